"""The ledger: each fact once, ids that stay, bounded."""

from agent_fakes import DOC, PAGES

from agent.grounding import Grounded, ground
from agent.ledger import MAX_A_PAGE, MAX_FACTS, record
from agent.matching import PageText
from agent.types import EvidenceRegion, FactDraft
from indexes.types import BBox, PageRef


def item(
    text: str, quote: str = "", *, page: int = 2, score: float = 0.5, part: int = 0, support="exact"
) -> Grounded:
    ref = PageRef(DOC, page)
    draft = FactDraft(ref, text, quote, score, part)
    return Grounded(draft, text, quote, (EvidenceRegion(ref, BBox(0.1, 0.1, 0.5, 0.2)),), support)


def test_facts_are_numbered_in_the_order_of_recording() -> None:
    done = record([], [item("one"), item("two")], 1)
    assert [(fact.id, fact.text, fact.round) for fact in done.facts] == [("f1", "one", 1), ("f2", "two", 1)]
    later = record(done.facts, [item("three")], 2)
    assert [(fact.id, fact.round) for fact in later.facts] == [("f3", 2)] and later.ids == ("f3",)


def test_a_fact_said_twice_is_one_with_the_better_support() -> None:
    first = record([], [item("Net sales: 12", "net sales 12", support="approximate", score=0.4)], 1)
    done = record(first.facts, [item("NET SALES  12", "net sales 12", score=0.9)], 2)
    (fact,) = done.facts
    assert (fact.id, fact.round, fact.support, fact.score) == ("f1", 1, "exact", 0.9)
    assert fact.text == "NET SALES  12" and len(fact.regions) == 1 and done.ids == ("f1",)


def test_a_nearly_identical_quote_is_the_same_fact_only_if_numbers_agree() -> None:
    first = record([], [item("sales rose", "net sales rose strongly in every region during the year 12")], 1)
    same = item("sales rose", "net sales rose strongly in every region during the year, 12")
    other = item("sales rose more", "net sales rose strongly in every region during the year 13")
    assert record(first.facts, [same], 2).ids == ("f1",)
    assert record(first.facts, [other], 2).ids == ("f2",)


def test_the_same_words_on_another_page_or_for_another_part_are_another_fact() -> None:
    first = record([], [item("one")], 1)
    assert record(first.facts, [item("one", page=3)], 1).ids == ("f2",)
    assert record(first.facts, [item("one", part=1)], 1).ids == ("f2",)


def test_a_page_keeps_its_best_facts_and_says_how_many_it_lost() -> None:
    many = [item(f"fact number {n}", score=n / 100) for n in range(MAX_A_PAGE + 5)]
    done = record([], many, 1)
    assert len(done.facts) == MAX_A_PAGE and min(fact.score for fact in done.facts) == 0.05
    assert [text for _, text in done.dropped] == [f"page 2: 5 facts beyond the best {MAX_A_PAGE}"]


def test_the_ledger_is_bounded() -> None:
    facts = []
    for page in range(1, 20):
        many = [item(f"fact {page} {n}", page=page) for n in range(MAX_A_PAGE)]
        done = record(facts, many, page)
        facts += done.facts
    assert len(facts) == MAX_FACTS and "full" in done.dropped[0][1]


def test_scores_outside_the_scale_are_brought_back() -> None:
    done = record([], [item("a", score=7.0), item("b", score=float("nan")), item("c", score=-1.0)], 1)
    assert [fact.score for fact in done.facts] == [1.0, 0.0, 0.0]


def test_another_region_of_a_known_fact_is_added() -> None:
    page = PageText(PAGES[1])
    ref = PAGES[1].ref
    one = ground(FactDraft(ref, "It has 42 offices.", "", 0.5, words=((11, 13),)), page)
    two = ground(FactDraft(ref, "It has 42 offices.", "It has 42 offices.", 0.5), page)
    assert isinstance(one, Grounded) and isinstance(two, Grounded)
    (fact,) = record([], [one, two], 1).facts
    assert fact.support == "exact" and fact.quote == "It has 42 offices."
