"""Pictures of plans: time against cost with every K and the goals, and a training run over its accelerators."""

from pathlib import Path

import scalecurve as sc
from scalecurve.cli.main import run
from scalecurve.render.plots import picture
from tests.reference_study import strong_study


def test_what_is_on_the_picture() -> None:
    table = sc.cost(strong_study(), 2.5, jobs=100_000, deadline=12 * 3600, budget=120, value_per_hour=10)
    svg = picture(table, "svg").decode()

    for words in ("K = 64", "deadline 12 h", "budget 120", "cheapest in time: K = 4", "fastest in budget: K = 8"):
        assert words in svg
    assert "measured" in svg
    assert "forecast" in svg
    assert "cost (USD)" in svg
    assert "100,000 jobs, GPUs at 2.5 USD/h" in svg


def test_the_same_table_gives_the_same_file() -> None:
    table = sc.cost(strong_study(), 2.5, at=[1, 2, 4])

    assert picture(table, "svg") == picture(table, "svg")


def test_a_name_with_a_dollar_sign_is_text() -> None:
    study = sc.Study.from_samples({1: [4.0], 2: [2.1], 4: [1.2]}, regime="strong", name="$x_1$ </script>")

    assert b"</script>" not in picture(sc.cost(study, 1.0, at=[1, 2, 4]), "svg")


def test_a_training_plan_shows_its_caps(tmp_path: Path) -> None:
    path = tmp_path / "plan.svg"
    assert (
        run(["plan", "--model", "llama3-70b", "--cluster", "h100-ib400", "--gpus", "64,128", "--plot", str(path)]) == 0
    )

    assert "accelerators P" in path.read_text()
    assert "cost-effective scale" in path.read_text()
