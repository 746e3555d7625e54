// @ts-check
/** The lesson alone, as one small page for a course. */
import { begin } from "./page.js";
import { LESSON, LessonView } from "./views/lesson.js";

begin([{ name: "lesson", label: "Lesson", defaults: LESSON, make: (store) => new LessonView(store) }]);
