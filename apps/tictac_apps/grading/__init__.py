"""Grades programs of others by proof: each submission runs confined, and its moves are judged exactly."""

from tictac_apps.grading.grading import Grade, Result, grade, points
from tictac_apps.grading.rubric import Rubric, assignments, load_rubric

__all__ = ["Grade", "Result", "Rubric", "assignments", "grade", "load_rubric", "points"]
