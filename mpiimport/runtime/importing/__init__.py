"""Imports answered from a store."""
