"""Work on many models or samples: side by side on the cores of this machine, or on the workers of a Dask cluster.

What comes out does not depend on how many there are.
"""

from .cache import Cache
from .conversions import Converted, convert_all
from .crew import Crew
from .zoo import models_in

__all__ = ["Cache", "Converted", "Crew", "convert_all", "models_in"]
