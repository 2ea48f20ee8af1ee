"""Treetop: federated heavy hitters under local differential privacy."""
