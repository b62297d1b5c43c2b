"""The command: what it prints, what it writes, and how it ends."""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from agent_fakes import FakeDocument, FakeRetriever, ScriptedReader, quoting, saying

from agent import answer as command
from agent.config import load_config
from agent.naming import spans
from agent.show import as_stated, show
from agent.trajectory import Trajectory
from agent.types import DraftAnswer, EvidenceRegion, Fact, FactDraft, Plan, Reading
from indexes.errors import InputError
from indexes.types import BBox, PageRef

QUOTE = "Revenue was $5.2 billion in 2023"


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch):
    """Lets the command open the fake document with a reader of the test's."""
    state = {"reader": ScriptedReader(reads=quoting(QUOTE), answers=saying("$5.2 billion")), "opened": 0}
    document = FakeDocument()
    state["document"] = document

    @contextmanager
    def opened(paths, config, *, password=None, quiet=True):
        state.update(opened=state["opened"] + 1, config=config, password=password, quiet=quiet, paths=paths)
        yield command.Asker([document], FakeRetriever(document, order=[2]), state["reader"], config, 1.5)

    monkeypatch.setattr(command, "open_asker", opened)
    monkeypatch.setattr("agent.pictures.write_pictures", lambda *args: [])
    return state


def test_the_answer_comes_first_then_evidence_then_cost(given, capsys) -> None:
    given["document"].ocred, given["document"].failed = (3, 4), {6: "broken \x1b[31mxref"}
    assert command.main(["doc.pdf", "What was revenue in 2023?"]) == 0
    out = capsys.readouterr().out
    assert out.index("Answer: $5.2 billion") < out.index("Evidence") < out.index("Cost")
    assert "p. 2 (label 1)  [0.1" in out and "exact" in out and f'"{QUOTE}"' in out
    assert "read by OCR: pages 3-4" in out and "page 6 failed and was skipped: broken xref" in out
    assert "1.5 s of opening and indexing" in out and "stopped: answered" in out
    assert "\x1b" not in out


def test_an_abstention_says_what_was_looked_for_and_what_came_nearest(given, capsys) -> None:
    reply = DraftAnswer("Unanswerable", (), "nothing names a chair", 0.0)
    given["reader"].answers = lambda *args: reply
    assert command.main(["doc.pdf", "Who chairs the board?"]) == 0
    out = capsys.readouterr().out
    assert "Answer: Unanswerable" in out and "Looked for: Who chairs the board?" in out
    assert "Not found: nothing names a chair" in out and "Nearest evidence" in out and QUOTE in out
    assert command.main(["doc.pdf", "Who chairs the board?", "--json"]) == 0
    first, second, last = json.loads(capsys.readouterr().out)["model_raw"].split("\n")
    assert (first, last) == ("nothing names a chair.", "<answer> Unanswerable </answer>") and QUOTE in second


def test_cited_facts_stand_before_other_evidence(given, capsys) -> None:
    given["reader"].reads = quoting("It has 42 offices.", QUOTE)
    given["reader"].answers = lambda q, plan, facts: DraftAnswer("$5.2 billion", (facts[1].id,), "", 0.9)
    command.main(["doc.pdf", "What was revenue?"])
    out = capsys.readouterr().out
    assert out.index("Evidence") < out.index(QUOTE) < out.index("Other evidence") < out.index("42 offices")


def test_json_is_the_row_alone_one_line_a_question(given, capsys) -> None:
    assert command.main(["doc.pdf", "One?", "Two?", "--json", "--quiet"]) == 0
    captured = capsys.readouterr()
    rows = [json.loads(line) for line in captured.out.splitlines()]
    assert [row["question_id"] for row in rows] == ["fake::q1", "fake::q2"] and given["opened"] == 1
    assert captured.err == "" and given["quiet"] is True
    run = Trajectory.from_row(rows[0])
    assert run.question == "One?" and run.answer == "$5.2 billion" and run.documents["fake"]["pages"] == 6
    assert rows[0]["model"] == "pagetrail/cpu" and run.config_digest == load_config("cpu").digest


def test_the_run_is_shown_live_on_stderr_unless_it_is_to_be_quiet(given, capsys) -> None:
    command.main(["doc.pdf", "What was revenue?", "--json"])
    captured = capsys.readouterr()
    assert json.loads(captured.out)["status"] == "ok"
    assert captured.err.startswith('round 1: looking for "What was revenue?"\n  found p. 2')
    assert f"f1 p. 2 (label 1)  exact  {QUOTE}" in captured.err
    command.main(["doc.pdf", "What was revenue?", "--quiet"])
    assert capsys.readouterr().err == ""


def test_further_documents_are_opened_with_the_first(given, capsys) -> None:
    command.main(["a.pdf", "One?", "--also", "b.pdf", "--also", "c.pdf"])
    assert given["paths"] == ["a.pdf", "b.pdf", "c.pdf"]


def test_steps_are_kept_for_readers_whose_calls_cost(given, monkeypatch) -> None:
    from agent import graph

    kept, whole = [], graph.ask

    def asked(*args, keep, **kwargs):
        kept.append(keep)
        return whole(*args, keep=keep, **kwargs)

    monkeypatch.setattr(graph, "ask", asked)
    command.main(["doc.pdf", "One?", "--quiet"])
    given["reader"].prompts = {"read": "abc"}
    command.main(["doc.pdf", "One?", "--quiet"])
    assert kept == [False, True]


@pytest.mark.parametrize("name", ["-lead.pdf", "-r.PDF", "-scans"])
def test_a_name_that_begins_with_a_dash_gets_a_hint(given, name: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-scans").mkdir()
    with pytest.raises(InputError, match=rf"begins with a dash.*write \./{name}") as caught:
        command.main([name, "One?"])
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError) as caught:
        command.main(["doc.pdf", "One?", "-z"])
    assert "dash" not in str(caught.value)


def test_dials_reach_the_run(given, capsys) -> None:
    command.main(["doc.pdf", "One?", "--rounds", "7", "--k", "9", "--password", "secret"])
    assert (given["config"].rounds, given["config"].k, given["password"]) == (7, 9, "secret")


def test_out_writes_the_row_and_pictures(given, capsys, monkeypatch, tmp_path: Path) -> None:
    calls = []
    monkeypatch.setattr("agent.pictures.write_pictures", lambda *args: calls.append(args) or [])
    out = tmp_path / "a" / "b"
    assert command.main(["doc.pdf", "One?", "--out", str(out)]) == 0
    row = json.loads((out / "answer.json").read_text())
    assert row["parsed"]["answer"] == "$5.2 billion"
    assert sorted(path.name for path in out.iterdir()) == ["answer.html", "answer.json"]
    documents, run, folder, stem = calls[0]
    assert (documents, run.answer, folder, stem) == ([given["document"]], "$5.2 billion", out, "")
    assert command.main(["doc.pdf", "One?", "Two?", "--out", str(out)]) == 0
    assert len((out / "answers.jsonl").read_text().splitlines()) == 2
    assert [call[3] for call in calls[1:]] == ["q1-", "q2-"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["doc.pdf", ""], "the question is empty"),
        (["doc.pdf", "ok?", "  \n"], "question 2: the question is empty"),
        (["doc.pdf", "x" * 5000], "5000 characters"),
        (["doc.pdf", "ok?", "--rounds", "0"], "--rounds 0: input should be greater"),
        (["doc.pdf", "ok?", "--k", "0"], "--k 0: input should be greater"),
        (["doc.pdf", "ok?", "--k", "two"], "invalid int value: 'two'"),
        (["doc.pdf", "ok?", "--config", "cpuu"], "did you mean 'cpu'"),
        (["doc.pdf", "ok?", "--config", "gone/x.yaml"], "gone/x.yaml: cannot be read"),
        (["doc.pdf"], "required: question"),
        (["doc.pdf", "ok?", "--frobnicate"], "--frobnicate"),
    ],
)
def test_bad_input_is_one_line_before_anything_is_opened(given, arguments, said) -> None:
    with pytest.raises(InputError) as caught:
        command.main(arguments)
    assert said in str(caught.value) and "\n" not in str(caught.value) and given["opened"] == 0


def test_an_output_folder_that_cannot_be_is_said_before_the_work(given, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for out in (file, file / "below"):
        with pytest.raises(InputError, match="cannot be written"):
            command.main(["doc.pdf", "ok?", "--out", str(out)])
    assert given["opened"] == 0


def test_a_failure_leaves_no_folder_behind(given, tmp_path: Path) -> None:
    def broken(task):
        raise InputError("the disk is full")

    given["reader"].reads = broken
    with pytest.raises(InputError):
        command.main(["doc.pdf", "ok?", "--out", str(tmp_path / "new" / "deep")])
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_failed_ends_with_exit_code_1_and_an_error_row(given, capsys) -> None:
    def broken(*args):
        raise RuntimeError("model is down")

    given["reader"].answers = broken
    assert command.main(["doc.pdf", "ok?", "--json"]) == 1
    row = json.loads(capsys.readouterr().out)
    assert row["status"] == "error: answer: RuntimeError: model is down" and "parsed" not in row
    assert command.main(["doc.pdf", "ok?"]) == 1
    assert "No answer: the run failed (answer: RuntimeError: model is down)" in capsys.readouterr().out
    assert Trajectory.from_row(row).answer == ""


def test_what_a_document_says_cannot_steer_the_terminal(given, capsys) -> None:
    def reads(task):
        text = "\x1b[2J\x07evil\x9b31m \u202etxet"
        return Reading((FactDraft(task.pages[0].ref, text, "", 0.5, blocks=(0,)),))

    given["reader"].reads, given["reader"].answers = reads, saying("Unanswerable")
    command.main(["doc.pdf", "ok?"])
    out = capsys.readouterr().out
    assert "evil" in out and all(c.isprintable() or c == "\n" for c in out)


def test_the_library_answers_in_three_lines(given) -> None:
    from agent.answer import answer

    result = answer("doc.pdf", "What was revenue in 2023?", rounds=2)
    assert result.answer == "$5.2 billion" and result.cited[0].quote == QUOTE and given["config"].rounds == 2
    with pytest.raises(InputError):
        answer("doc.pdf", " ")


def test_help_shows_examples_at_once() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "agent.answer", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "examples:" in done.stdout and 'python -m agent.answer report.pdf "' in done.stdout
    for heavy in ("torch", "transformers", "faiss", "pymupdf", "langgraph", "onnxruntime"):
        assert f" {heavy}\n" not in done.stderr


def test_a_missing_document_ends_with_exit_code_2_and_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "agent.answer",
            str(tmp_path / "gone.pdf"),
            "ok?",
            "--out",
            str(tmp_path / "out"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ") and "gone.pdf" in line
    assert not (tmp_path / "out").exists()


def test_pages_are_written_in_few_words() -> None:
    assert spans([5, 3, 4, 9, 9]) == "3-5, 9" and spans([]) == ""


def test_a_row_read_back_shows_the_same(given, capsys) -> None:
    command.main(["doc.pdf", "One?", "--json"])
    row = json.loads(capsys.readouterr().out)
    command.main(["doc.pdf", "One?"])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in show(Trajectory.from_row(row)).splitlines() if " s after" not in line] == [
        line for line in lines if " s after" not in line
    ]


def test_an_empty_name_for_results_is_refused(given) -> None:
    with pytest.raises(InputError, match="--out: an empty name"):
        command.main(["doc.pdf", "One?", "--out", ""])
    assert given["opened"] == 0


@pytest.mark.parametrize(
    ("answer", "fact", "stated"),
    [
        ("34229", "Net sales, 2022: $34,229 million (Statement of Income)", "$34,229 million"),
        ("7151", "Operating profit, 2024: 7,151 thousand", "7,151 thousand"),
        ("12.5%", "Margin: 12.5 %", "12.5 %"),
        ("118", "It has 118 employees.", ""),
        ("18,078", "Net sales: $18.078 billion", "$18.078 billion"),
        ("3,000,000", "It has 3 million users.", "3 million"),
        ("5,000", "It paid $5 million to its 5,000 employees.", ""),
        ("18,079", "Net sales: $18.078 billion", ""),
        ("229", "Net sales: $34,229 million", ""),
        ("Marek Dvorak", "Inspector: Marek Dvorak", ""),
    ],
)
def test_a_bare_number_is_shown_as_its_fact_states_it(answer: str, fact: str, stated: str) -> None:
    region = (EvidenceRegion(PageRef("doc", 1), BBox(0.1, 0.1, 0.2, 0.2)),)
    facts = (Fact("f1", fact, fact, region, "exact", 1),)
    reply = DraftAnswer(answer, ("f1",), "", 1.0)
    run = Trajectory("q", "?", {"doc": {}}, "m", Plan("number", ("?",), ("?",)), (), facts, reply, "answered")
    assert as_stated(run) == stated
    assert (f"(stated as {stated})" in show(run)) == bool(stated)
