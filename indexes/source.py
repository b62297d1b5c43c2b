"""Opening a document inside a worker: a PDF through PyMuPDF, page images through Pillow.

Only worker processes import this module. Sizes are points as seen; images count as 144 DPI unless they say
otherwise.
"""

import importlib
import io
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indexes.cache import read_json
from indexes.errors import InputError

MAX_PIXELS = 40_000_000  # of a rendered page
MAX_LAYOUT = 2500.0  # points of the longer side of a page that the layout model is shown
MAX_IMAGE_PIXELS = 120_000_000  # of a page image before it is decoded


@dataclass(frozen=True, slots=True)
class Survey:
    """What is known of a document before its pages are read."""

    pages: int
    outline: list[tuple[int, str, int]]
    labels: list[str]
    warning: str
    encrypted: bool


def mupdf(layout: bool = False) -> Any:
    """PyMuPDF, imported where it is used; with its layout model only on demand, which takes a second more."""
    if not layout and "pymupdf" not in sys.modules:
        sys.modules["pymupdf.layout"] = None  # type: ignore[assignment]
    import pymupdf

    if layout:
        if sys.modules.get("pymupdf.layout") is None:
            sys.modules.pop("pymupdf.layout", None)
        importlib.import_module("pymupdf.layout")
    module: Any = pymupdf
    return module


def capped_dpi(size: tuple[float, float], dpi: float) -> float:
    """The DPI at which a page of `size` points stays within `MAX_PIXELS`."""
    pixels = size[0] * size[1] * (dpi / 72) ** 2
    return dpi if pixels <= MAX_PIXELS else dpi * (MAX_PIXELS / pixels) ** 0.5


class PdfSource:
    """A PDF.

    Raises:
        InputError: it is encrypted, broken beyond repair, or has no pages.
    """

    def __init__(self, path: Path, password: str | None) -> None:
        pymupdf = mupdf()
        pymupdf.TOOLS.mupdf_display_errors(False)
        pymupdf.TOOLS.mupdf_display_warnings(False)
        try:
            # PyMuPDF cannot open a file whose name is not UTF-8: it gets the content instead.
            data = None if str(path).isprintable() else path.read_bytes()
            self.doc = pymupdf.open(path if data is None else None, data, "pdf")
        except Exception as error:
            raise InputError(
                f"{path}: a broken PDF ({_one_line(error)}); fetch or export it again"
            ) from error
        self.locked = bool(self.doc.needs_pass)
        if self.locked:
            if password is None:
                raise InputError(f"{path}: encrypted; give its password (--password)")
            if not self.doc.authenticate(password):
                raise InputError(f"{path}: encrypted, and the password given is wrong")
        try:
            self.count = len(self.doc)
        except Exception as error:
            raise InputError(
                f"{path}: a broken PDF ({_one_line(error)}); fetch or export it again"
            ) from error
        if not self.count:
            raise InputError(f"{path}: a PDF without pages; fetch or export it again")

    def survey(self) -> Survey:
        """Page count, outline and page labels; a damaged outline or label tree counts as none."""
        warning = "the PDF is damaged and was repaired; pages may be missing" if self.doc.is_repaired else ""
        try:
            outline = [(int(level), str(title), int(page)) for level, title, page, *_ in self.doc.get_toc()]
        except Exception:
            outline = []
        try:
            labels = (
                [self.doc[i].get_label() for i in range(self.count)] if self.doc.get_page_labels() else []
            )
        except Exception:
            labels = []
        return Survey(self.count, outline, labels, warning, self.locked)

    def page(self, number: int) -> Any:
        """The PyMuPDF page."""
        return self.doc[number - 1]

    def for_ocr(self, number: int) -> tuple[tuple[float, float], Any]:
        """A page's size in points and its image at the resolution that OCR wants."""
        from indexes.ocr import DPI, fit

        rect = self.page(number).rect
        size = float(rect.width), float(rect.height)
        return size, self.render(number, 72 * fit(size, DPI / 72))

    def upright_page(self, number: int, ocr_file: str | None) -> Any:
        """The page for the layout model: rotation baked in, OCR's words as invisible text."""
        page = self.page(number)
        if ocr_file:
            size = float(page.rect.width), float(page.rect.height)
            return _page_of(self.render(number, 144), size, ocr_file)
        longest = max(page.rect.width, page.rect.height)
        if not page.rotation and longest <= MAX_LAYOUT:
            return page
        copy = mupdf().open()
        if longest > MAX_LAYOUT:  # the model sees a page at 72 DPI, whatever its size
            small = copy.new_page(
                width=page.rect.width * MAX_LAYOUT / longest, height=page.rect.height * MAX_LAYOUT / longest
            )
            small.show_pdf_page(small.rect, self.doc, number - 1, rotate=-page.rotation)
            return small
        copy.insert_pdf(self.doc, from_page=number - 1, to_page=number - 1)
        copy[0].remove_rotation()
        return copy[0]

    def render(self, number: int, dpi: float) -> Any:
        """Rotation and CropBox are applied by PyMuPDF."""
        from PIL import Image

        page = self.page(number)
        dpi = capped_dpi((page.rect.width, page.rect.height), dpi)
        pymupdf = mupdf()
        pixels = page.get_pixmap(
            matrix=pymupdf.Matrix(dpi / 72, dpi / 72), alpha=False, colorspace=pymupdf.csRGB
        )
        return Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples)


class ImageSource:
    """Page images."""

    def __init__(self, images: list[Path]) -> None:
        self.images = images

    def survey(self) -> Survey:
        """Page images have neither outline nor labels."""
        return Survey(len(self.images), [], [], "", False)

    def upright_page(self, number: int, ocr_file: str | None) -> Any:
        """The page for the layout model: the image with OCR's words as invisible text."""
        image = self.load(number)
        return _page_of(image, self.size(image), ocr_file)

    def load(self, number: int) -> Any:
        """The image as Pillow RGB, EXIF orientation applied.

        Raises:
            ValueError: it cannot be decoded, or is too large to be a page.
        """
        from PIL import Image, ImageOps

        path = self.images[number - 1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Image.MAX_IMAGE_PIXELS = None  # our own limit holds, and is checked before anything is decoded
            try:
                with Image.open(path) as image:
                    if image.width * image.height > MAX_IMAGE_PIXELS:
                        raise ValueError(
                            f"{path.name}: {image.width} x {image.height} pixels are too many for a page"
                        )
                    dpi = image.info.get("dpi", (0, 0))
                    seen = ImageOps.exif_transpose(image).convert("RGB")
            except (OSError, SyntaxError, EOFError) as error:
                reason = _one_line(error).replace(str(path), path.name)
                raise ValueError(f"{path.name}: cannot be decoded as an image ({reason})") from error
        seen.info["dpi"] = dpi
        return seen

    def for_ocr(self, number: int) -> tuple[tuple[float, float], Any]:
        """A page's size in points and its image at the resolution that OCR wants."""
        from PIL import Image

        from indexes.ocr import fit

        image = self.load(number)
        size = self.size(image)
        scale = fit(image.size, 1.0)
        wanted = max(1, round(image.width * scale)), max(1, round(image.height * scale))
        return size, image if scale == 1 else image.resize(wanted, Image.Resampling.BICUBIC)

    def size(self, image: Any) -> tuple[float, float]:
        """Width and height in points."""
        x_dpi, y_dpi = (
            float(value) if 50 <= float(value) <= 1200 else 144.0 for value in image.info["dpi"][:2]
        )
        return image.width / x_dpi * 72, image.height / y_dpi * 72

    def render(self, number: int, dpi: float) -> Any:
        """The page image scaled to `dpi`; never enlarged."""
        image = self.load(number)
        width, height = self.size(image)
        dpi = capped_dpi((width, height), dpi)
        wanted = max(1, round(width * dpi / 72)), max(1, round(height * dpi / 72))
        return image if wanted[0] >= image.width else image.resize(wanted)


def _page_of(image: Any, size: tuple[float, float], ocr_file: str | None) -> Any:
    """A PDF page that shows an image and holds the lines that OCR read on it, invisibly."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=90)
    page = mupdf().open().new_page(width=size[0], height=size[1])
    page.insert_image(page.rect, stream=buffer.getvalue())
    kept = read_json(Path(ocr_file)) if ocr_file else None
    for line in kept["lines"] if kept else ():
        x1, y1, x2, y2 = (v * size[i % 2] for i, v in enumerate(line["box"]))
        text = " ".join(line["words"])
        unit = mupdf().get_text_length(text, fontsize=1.0)
        if line.get("upright", True) and unit > 0:
            tall = min((x2 - x1) / unit, 1.3 * (y2 - y1))
            page.insert_text((x1, y2 - 0.2 * (y2 - y1)), text, fontsize=tall, render_mode=3)
    return page


def open_source(path: str, images: list[str], password: str | None) -> PdfSource | ImageSource:
    """Opens what `indexes.files.find_files` found."""
    return ImageSource([Path(image) for image in images]) if images else PdfSource(Path(path), password)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
