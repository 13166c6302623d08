"""Trainings that somebody watches: each in a process of its own, which tells how it goes as lines of JSON.

`plan.py` is what may be trained, `run.py` the process, `judging.py` how good the learner is, `lesson.py` one training
game walked through. The page in the browser (`tictac_env.web`) starts these by name.
"""
