"""The sections of a report's page."""
