"""Does the code keep the promise?"""
