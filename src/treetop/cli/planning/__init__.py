"""Commands that say what would be, before any data are collected."""
