// @ts-check
/** The explorer: the lesson first, then the views that compute. */
import { begin } from "./page.js";
import { DATA, DataView } from "./views/data.js";
import { LAWS, LawsView } from "./views/laws.js";
import { LESSON, LessonView } from "./views/lesson.js";
import { MECHANISMS, MechanismsView } from "./views/mechanisms.js";
import { TRAINING, TrainingView } from "./views/training.js";

begin([
  { name: "lesson", label: "Lesson", defaults: LESSON, make: (store) => new LessonView(store) },
  { name: "training", label: "Training scale", defaults: TRAINING, make: (store) => new TrainingView(store) },
  { name: "laws", label: "Laws", defaults: LAWS, make: (store) => new LawsView(store) },
  { name: "data", label: "My data", defaults: DATA, make: (store) => new DataView(store) },
  { name: "mechanisms", label: "Mechanisms", defaults: MECHANISMS, make: (store) => new MechanismsView(store) },
]);
