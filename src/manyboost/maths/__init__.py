"""Codes, links, steps and weights: plain functions of arrays."""
