"""Weak learners other than our trees."""
