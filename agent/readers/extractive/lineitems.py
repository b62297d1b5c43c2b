"""The line items of financial statements: what a question calls them, and what a statement's row calls them.

A line item that is not in the table is free: its row is found by the words it shares with the row's label.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from agent.readers.extractive.text import fold, stems

Statement = Literal["income", "balance", "cash", ""]


@dataclass(frozen=True, slots=True)
class LineItem:
    """A line item.

    Attributes:
        key: its name in a formula, or the free phrase itself.
        asked: how questions call it, a regular expression over folded text.
        labels: how rows call it, regular expressions for a whole folded label, the best first.
        statement: where it stands.
        query: words to search it by.
    """

    key: str
    asked: str
    labels: tuple[str, ...]
    statement: Statement
    query: str


def _item(key: str, statement: Statement, query: str, asked: str, *labels: str) -> LineItem:
    return LineItem(key, asked, labels, statement, query)


_OWNERS = r"(?:attributable to|available to|applicable to) .*"
_PPE = r"(?:property|plant|premises|buildings?)(?:,? (?:and|plants?|property|equipment)|,)+"

LINE_ITEMS: tuple[LineItem, ...] = (
    _item(
        "current_assets",
        "balance",
        "total current assets",
        r"(?:total )?current assets",
        r"total current assets",
    ),
    _item(
        "current_liabilities",
        "balance",
        "total current liabilities",
        r"(?:total )?current liabilities",
        r"total current liabilities",
    ),
    _item("total_assets", "balance", "total assets", r"(?:total )?assets?(?= |$)", r"total assets"),
    _item(
        "total_liabilities", "balance", "total liabilities", r"total liabilit(?:y|ies)", r"total liabilities"
    ),
    _item(
        "equity",
        "balance",
        "total stockholders equity",
        r"(?:total |average )?(?:(?:stock|share)(?:holders?|owners?)'?s?'? )?equity"
        r"(?:,? including noncontrolling interests?)?",
        r"total equity",
        r"total (?:[\w&. ]+ )?(?:stock|share)(?:holders?|owners?)'?s?'? ?(?:equity|investment)(?: "
        r"\(deficit\))?",
        r"total (?:[\w&. ]+)?equity",
        r"(?:stock|share)(?:holders?|owners?)'?s?'? equity",
    ),
    _item(
        "inventory",
        "balance",
        "inventories",
        r"(?:merchandise )?inventor(?:y|ies)",
        r"(?:total |merchandise |net )?inventor(?:y|ies)(?:, net.*| \(.*)?",
    ),
    _item(
        "accounts_payable",
        "balance",
        "accounts payable",
        r"(?:accounts?|trade) payables?",
        r"(?:trade )?accounts payable(?:, trade.*|, net.*)?",
        r"(?:trade payables?|accounts payable and .*)",
    ),
    _item(
        "receivables",
        "balance",
        "accounts receivable net",
        r"(?:net )?(?:accounts?|trade) (?:and notes )?receivables?",
        r"(?:trade )?(?:accounts )?receivables?(?:,? (?:net|less|trade).*)?",
        r"(?:trade |customer )?accounts (?:and notes )?receivables?.*",
    ),
    _item(
        "cash",
        "balance",
        "cash and cash equivalents",
        r"cash(?: and (?:cash )?equivalents?| balance| & equivalents)?",
        r"cash and cash equivalents(?: \(.*)?",
        r"cash and (?:due from banks|equivalents)",
    ),
    _item(
        "ppe",
        "balance",
        "property plant and equipment net",
        r"(?:net )?(?:pp ?& ?e|fixed assets?|property,? (?:plant,? )?and equipment)(?:,? net)?",
        rf"(?:net )?{_PPE}(?:,? net.*|, at cost, net.*)?",
        rf"(?:total )?{_PPE}.*net.*",
        r"(?:total )?property(?: and equipment|, plant and equipment).*",
    ),
    _item(
        "long_term_debt",
        "balance",
        "long-term debt excluding current portion",
        r"long[- ]term debt",
        r"long-term debt(?:,? (?:excluding|less|net|and).*)?",
        r"(?:total )?long-term (?:debt|borrowings?).*",
    ),
    _item(
        "current_debt",
        "balance",
        "current portion of long-term debt",
        r"(?:current (?:portion|maturities) of long[- ]term debt|short[- ]term (?:debt|borrowings?))",
        r"(?:current (?:portion|maturities) of (?:long-term )?debt.*|long-term debt due within.*)",
        r"(?:short-term (?:debt|borrowings?)|notes payable|commercial paper).*",
    ),
    _item(
        "lease_liabilities",
        "",
        "total lease liabilities operating and finance",
        r"(?:all |total )(?:operating and finance )?lease liabilities",
        r"total (?:operating and finance )?lease liabilities",
        r"lease liabilities",
    ),
    _item(
        "long_operating_leases",
        "",
        "long-term operating lease liabilities",
        r"long[- ]term operating lease liabilities",
        r"(?:long-term|non-?current) operating lease liabilities(?:, net.*)?",
        r"operating lease liabilities,? (?:long-term|non-?current|excluding|net of).*",
    ),
    _item(
        "long_finance_leases",
        "",
        "long-term finance lease liabilities",
        r"long[- ]term finance lease liabilities",
        r"(?:long-term|non-?current) finance lease liabilities(?:, net.*)?",
        r"finance lease liabilities,? (?:long-term|non-?current|excluding|net of).*",
    ),
    _item("goodwill", "balance", "goodwill", r"goodwill", r"goodwill(?:, net)?"),
    _item(
        "retained_earnings",
        "balance",
        "retained earnings",
        r"retained earnings",
        r"(?:retained earnings|reinvested earnings|accumulated deficit).*",
    ),
    _item(
        "cost_of_sales",
        "income",
        "cost of sales",
        r"(?:cogs|cost of (?:goods sold|sales|revenues?|products? sold|merchandise sold))",
        r"(?:total )?costs? of (?:sales|goods sold|products sold|merchandise sold|revenues?|"
        r"products and services)"
        r"(?:,? (?:exclusive|excluding|including).*)?",
        r"(?:total )?costs? of .*(?:sales|sold|revenues?)",
        r"merchandise costs",
    ),
    _item("gross_profit", "income", "gross profit", r"gross profit", r"gross (?:profit|margin)"),
    _item(
        "operating_income",
        "income",
        "operating income",
        r"(?:unadjusted )?(?:operating (?:income|profit|earnings)|ebit|income from operations)(?: "
        r"before .*)?",
        r"(?:total |consolidated )?(?:operating (?:income|profit|earnings)|(?:income|profit|"
        r"earnings) from operations)"
        r"(?: \(loss\))?",
        r"(?:income|earnings)(?: \(loss\))? from (?:continuing )?operations",
    ),
    _item(
        "pretax_income",
        "income",
        "income before income taxes",
        r"(?:pre-?tax (?:income|profit|earnings)|(?:income|earnings) before (?:provision for )"
        r"?(?:income )?tax(?:es)?)",
        r"(?:income|earnings|profit)(?: \(loss\))?(?: from continuing operations)?,? before "
        r"(?:the )?(?:provision |benefit |\(.*\) )?(?:for )?(?:income )?tax(?:es)?.*",
    ),
    _item(
        "income_tax",
        "income",
        "provision for income taxes",
        r"(?:income tax(?:es)?(?: expense| provision)?|provision for (?:income )?taxes|taxes)",
        r"(?:less: )?(?:provision|\(provision\)|benefit|\(benefit\))[\w() /]* (?:for|from) "
        r"(?:income )?tax(?:es)?",
        r"(?:provision for |benefit from )?income tax(?:es)?(?: expense| provision| \(?benefit\)?|"
        r"/\(benefit\))*",
    ),
    _item(
        "net_income",
        "income",
        "net income",
        r"net (?:income|earnings|profit|loss)(?: attributable to .*)?",
        rf"net (?:income|earnings)(?: \(loss\)|/\(loss\))?(?: {_OWNERS})?",
        rf"(?:consolidated )?net (?:income|earnings|profit).*(?:{_OWNERS}|including .*)",
    ),
    _item(
        "interest_expense",
        "income",
        "interest expense",
        r"interest expenses?",
        r"(?:total |net )?interest expense.*",
        r"interest \(expense\).*",
        r"interest(?: on debt| expense)?,? net.*",
        r"interest(?: and other| income)?.*expense.*",
    ),
    _item(
        "research",
        "income",
        "research and development",
        r"(?:r ?& ?d|research and development|product development)(?: expenses?| costs?| spending)?",
        r"(?:research and development|product development|research, development .*|technology and content)"
        r"(?: expenses?| costs?)?",
    ),
    _item(
        "sga",
        "income",
        "selling general and administrative expenses",
        r"(?:sg ?& ?a|selling,? general,? (?:and|&) administrative)(?: expenses?| costs?)?",
        r"selling,? (?:general|informational|distribution).*administrative.*",
    ),
    _item(
        "depreciation",
        "cash",
        "depreciation and amortization",
        r"(?:depreciation(?:,? (?:and|&) amortization)?|d ?& ?a)(?: expenses?)?",
        r"(?:total )?depreciation(?:,|,? and| &) amortization(?:.*)?",
        r"(?:total )?depreciation.*amortization.*",
        r"depreciation.*",
    ),
    _item(
        "operating_cash_flow",
        "cash",
        "net cash provided by operating activities",
        r"(?:net )?(?:operating cash flows?|cash flows? (?:provided |used )?(?:from|by|in) "
        r"operat(?:ions|ing activities)|"
        r"cash from operations|cfo)",
        r"(?:net )?cash (?:flows? )?(?:provided by|\(?used (?:in|for|by)\)?|generated by|from|\W)[\w()/ ]*"
        r"operat(?:ing activities|ions).*",
    ),
    _item(
        "capex",
        "cash",
        "purchases of property and equipment capital expenditures",
        r"(?:capex|capital (?:expenditures?|spending|investments?))",
        r"(?:capital (?:expenditures?|spending)|purchases? of (?:property|premises|plant)|"
        r"additions to (?:property|plant)|"
        r"payments? for (?:property|plant)|acquisitions? of property|expenditures? for property|"
        r"purchases? of property)\b.*",
    ),
    _item(
        "dividends",
        "cash",
        "dividends paid",
        r"(?:cash |total )?dividends?(?: paid)?",
        r"(?:cash )?dividends? (?:paid|payments?).*",
        r"(?:payments? of )?(?:cash )?dividends?(?: paid)?.*",
    ),
    _item(
        "buybacks",
        "cash",
        "repurchases of common stock",
        r"(?:stock|share|common stock)s? (?:repurchases?|buybacks?)|repurchas(?:es|ing) of (?:common )?stock",
        r"(?:repurchases?|purchases?) of (?:common|treasury|company|class|own|outstanding)[\w "
        r"]*(?:stock|shares).*",
    ),
    _item(
        "revenue",
        "income",
        "total net revenues net sales",
        r"(?:total |net |consolidated )*(?:revenues?|sales)",
        r"total (?:net )?(?:revenues?|sales)(?:,? net.*)?",
        r"(?:consolidated )?net (?:revenues?|sales)(?:,? .*)?",
        r"(?:revenues?|sales)(?:, net)?",
    ),
)

_BY_KEY = {item.key: item for item in LINE_ITEMS}


def free_item(phrase: str) -> LineItem:
    """A line item that only the question names."""
    return LineItem(phrase, re.escape(fold(phrase)), (), "", phrase)


def line_item(key: str) -> LineItem:
    """The line item of a formula's name, or a free one."""
    return _BY_KEY.get(key) or free_item(key)


@cache
def resolve(phrase: str) -> LineItem | None:
    """The line item that a phrase of a question is, if it is one of the table's."""
    text = re.sub(
        r"^(?:the|its|their|of|a|in|total amount of|amount of|value of) ", "", fold(phrase).strip(" .,?")
    )
    for item in LINE_ITEMS:
        if re.fullmatch(item.asked, text):
            return item
    return None


def clean_label(label: str) -> str:
    """A row's label as it is compared: folded, note numbers and leaders dropped."""
    text = fold(label)
    text = re.sub(r"\(?\bnotes? \d+[a-z]?(?:(?:,| and) \d+)*\)?|\(\d+\)|[.·]{3,}|[$*†:]+", " ", text)
    return re.sub(r"\s+", " ", re.sub(r"\s-\s", " ", text)).strip(" .,-")


@cache
def label_score(item: LineItem, label: str) -> float:
    """How well a row's label names a line item: 1 for its usual name, less for rarer ones, 0 for another row.

    A free item scores by the words shared: F1 over stems, 0 below one half.
    """
    text = clean_label(label)
    if item.labels:
        for place, pattern in enumerate(item.labels):
            if re.fullmatch(pattern, text):
                return max(0.2, 1.0 - 0.15 * place)
        return 0.0
    asked, got = set(stems(item.key)), set(stems(text))
    shared = len(asked & got)
    if not shared:
        return 0.0
    score = 2 * shared / (len(asked) + len(got))
    return score if score >= 0.5 else 0.0
