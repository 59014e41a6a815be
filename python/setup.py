"""A wheel of this platform for every Python: it carries the C library, but nothing compiled against Python. make wheel calls it."""

import os

from setuptools import Distribution, setup
from wheel.bdist_wheel import bdist_wheel


class Wheel(bdist_wheel):
    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


class Binary(Distribution):
    def has_ext_modules(self):
        return True


setup(version=os.environ.get("REDLOCK_VERSION", "0"), distclass=Binary, cmdclass={"bdist_wheel": Wheel})
