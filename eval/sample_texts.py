"""What the sample document says (`eval.sample`): a company that does not exist, its year and its turbines."""

SITES = ("Sula Sound", "Fennick Narrows", "Port Arden", "Grey Skerry", "Loch Varran")
TURBINE_HEADER = ("Turbine", "Site", "Commissioned", "Capacity (kW)", "Generated (MWh)", "Availability")
QUARTERS = (("Q1", 41.2), ("Q2", 36.8), ("Q3", 33.5), ("Q4", 44.9))

INCOME = (
    ("", "2024", "2023"),
    ("Electricity sales", "21,480", "18,905"),
    ("Grid services", "3,215", "2,760"),
    ("Total revenue", "24,695", "21,665"),
    ("Maintenance of turbines", "(6,120)", "(5,842)"),
    ("Salaries and social security", "(7,034)", "(6,611)"),
    ("Depreciation", "(4,390)", "(4,105)"),
    ("Operating profit", "7,151", "5,107"),
    ("Finance costs", "(1,284)", "(1,377)"),
    ("Profit before tax", "5,867", "3,730"),
    ("Income tax", "(1,408)", "(933)"),
    ("Profit for the year", "4,459", "2,797"),
)

LETTER = (
    "Dear shareholders,",
    "The year 2024 was the first in which all five of our sites delivered electricity in every month. "
    "Meridian Tidal Energy generated 156.4 gigawatt hours, 12 percent more than in the year before, and "
    "connected its sixtieth turbine to the grid in November.",
    "We had promised you a dividend once the loan for Port Arden was repaid. It was repaid on 30 "
    "September 2024, eighteen months early, and the board proposes a dividend of 0.35 euros a share.",
    "The storm of 14 January tore the export cable at Grey Skerry. It was out of service for 41 days. "
    "Nobody was hurt. The cable has since been laid in a trench two metres deep.",
    "I thank our 118 employees, whose work in cold water and at odd hours makes all of this possible.",
    "Ingrid Halvorsen, Chair of the Board",
)
OVERVIEW = (
    "Meridian Tidal Energy builds and runs turbines that stand on the sea floor and turn with the tide. "
    "Tides can be foretold for decades, so our electricity can be sold years ahead at a fixed price.",
    "The company was founded in 2009 in Tromso by three engineers of the university. Its head office "
    "moved to Bergen in 2015. It has been listed on the Oslo exchange since May 2018.",
    "Our customers are grid operators and large buyers of power. The largest of them, Nordlys Aluminium, "
    "took 38 percent of our electricity in 2024 under a contract that runs until 2033.",
    "A turbine of the second series has a rotor of 18 metres and weighs 140 tonnes. It is lifted once in "
    "five years for maintenance. A lift takes one tide, a little over six hours, if the weather holds.",
    "Research costs 1.9 million euros a year. Its main subject is a blade coating that keeps mussels "
    "away without copper. A trial at Loch Varran began in March 2024 and will last three years.",
    "Competition comes from offshore wind more than from other tidal companies. Wind is cheaper per "
    "megawatt hour; the tide is reliable. We expect both to be needed.",
)
RISKS = (
    "Export cables: a torn cable takes a whole site off the grid. Repair vessels are few and must be "
    "booked months ahead.",
    "Price: 22 percent of our output is sold at the day-ahead price, which fell below zero on 19 days in "
    "2024.",
    "Permits: the permit for Fennick Narrows ends in 2029. The application for its renewal was filed in "
    "June 2024.",
    "Interest: half of our loans carry a variable rate. One percentage point more costs 310 thousand "
    "euros a year.",
    "Biofouling: mussels and kelp reduce the output of a turbine by up to 9 percent in three years.",
)
CERTIFICATE = (
    "CERTIFICATE OF INSPECTION",
    "",
    "Certificate number: TI-2024-0817",
    "Object inspected: export cable, Grey Skerry",
    "Date of inspection: 26 April 2024",
    "Inspector: Marek Dvorak, Nordic Marine Survey",
    "",
    "The cable was inspected over its whole length of 4.7 kilometres.",
    "The insulation resistance was measured at 512 megaohms.",
    "No damage was found. The cable may be put back into service.",
    "",
    "Next inspection due: April 2027",
)
ENVIRONMENT = (
    "Marine mammals are watched by hydrophones and by two observers at each site. In 2024 no collision was "
    "recorded. Porpoises were heard on 203 days at Loch Varran.",
    "Noise under water stayed below the permitted 120 decibels at 500 metres on all but four days, all "
    "of them days of cable work.",
    "Our own emissions came to 1,860 tonnes of carbon dioxide, nearly all from vessels. The electricity "
    "that we generated avoided about 59,000 tonnes.",
    "Oil in turbines was replaced by a biodegradable fluid at all sites but Port Arden, which follows in "
    "2025.",
)
BOARD = (
    ("Name", "Role", "Member since"),
    ("Ingrid Halvorsen", "Chair", "2016"),
    ("Tomas Reinholt", "Deputy chair", "2018"),
    ("Amina Yusuf", "Audit committee", "2020"),
    ("Pavel Novotny", "Audit committee", "2021"),
    ("Siri Aasen", "Employee representative", "2022"),
)
GLOSSARY = (
    "Availability: the share of hours in which a turbine was ready to run.",
    "Capacity: the electrical power of a turbine at its rated current of 3.1 metres a second.",
    "Day-ahead price: the price at which electricity for the next day is sold at auction.",
    "Slack water: the short time between two tides in which no current flows.",
)
OUTLINE = (
    ("Letter from the chair", "iii"),
    ("Highlights of the year", "1"),
    ("Business overview", "2"),
    ("Generation by quarter", "3"),
    ("Turbine register", "4"),
    ("Consolidated statement of income", "7"),
    ("Risks", "8"),
    ("Certificate of inspection", "9"),
    ("Environment", "10"),
    ("Board of directors", "11"),
    ("Glossary", "12"),
)


def turbine_rows() -> list[tuple[str, ...]]:
    """The 60 rows of the turbine register, twelve turbines a site."""
    rows: list[tuple[str, ...]] = []
    for i in range(60):
        site = SITES[i // 12]
        capacity = 1000 + 250 * ((i * 7) % 5)
        generated = round(capacity * (1.452 + ((i * 37) % 23) / 40))
        year, availability = str(2012 + (i * 11) // 51), f"{88 + (i * 13) % 11}.{i % 10} %"
        rows.append((f"T-{i + 1:02d}", site, year, f"{capacity:,}", f"{generated:,}", availability))
    return rows
