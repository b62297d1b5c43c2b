"""Pictures of pages and of regions, as readers that see are given them."""

import pytest
from agent_fakes import DOC, FakeDocument, ScriptedReader, make_run

from agent.graph import ask
from agent.images import DocumentImages
from agent.types import Reading
from indexes.types import BBox, PageRef


def test_a_region_is_cut_out_of_its_page_whole_pixels_outward() -> None:
    images = DocumentImages({DOC: FakeDocument()})
    page = images.render(PageRef(DOC, 2), 72)
    assert page.size == (612, 792)
    part = images.render(PageRef(DOC, 2), 144, BBox(0.25, 0.5, 0.501, 0.75))
    assert part.size == (308, 396)
    whole = images.render(PageRef(DOC, 2), 144)
    assert part.tobytes() == whole.crop((306, 792, 614, 1188)).tobytes()


@pytest.mark.parametrize("box", [BBox(1, 1, 1, 1), BBox(0.5, 0.5, 0.5, 0.5)])
def test_a_region_without_an_area_is_a_pixel(box: BBox) -> None:
    assert DocumentImages({DOC: FakeDocument()}).render(PageRef(DOC, 1), 72, box).size == (1, 1)


def test_a_page_of_another_document_is_refused() -> None:
    with pytest.raises(ValueError, match="page 1 of other: there is no such document"):
        DocumentImages({DOC: FakeDocument()}).render(PageRef("other", 1), 72)
    with pytest.raises(ValueError, match="page 99"):
        DocumentImages({DOC: FakeDocument()}).render(PageRef(DOC, 99), 72)


def test_a_reader_gets_the_pictures_of_the_run() -> None:
    sizes = []

    def reads(task):
        sizes.extend(task.images.render(page.ref, 36).size for page in task.pages)
        return Reading(())

    ask("offices?", make_run(ScriptedReader(reads=reads)), question_id="q", model="m")
    assert sizes == [(306, 396), (306, 396)]
