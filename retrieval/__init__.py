"""From a query to ranked pages with the regions that matched."""
