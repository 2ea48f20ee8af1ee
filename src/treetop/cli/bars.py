"""An estimate with its error bar, drawn with characters."""

from rich.text import Text

WIDTH = 20


def bar(count: float, stderr: float, largest: float, width: int = WIDTH) -> Text:
    """Draw a bar up to the estimate; its shaded end spans one standard error to either side."""
    scale = width / largest if largest > 0 else 0.0
    low = _clip(round((count - stderr) * scale), width)
    middle = _clip(round(count * scale), width)
    high = _clip(round((count + stderr) * scale), width)
    drawn = Text("█" * low, style="blue")
    drawn.append("▓" * (middle - low), style="blue")
    drawn.append("░" * (high - middle), style="blue")
    drawn.append(" " * (width - high))
    return drawn


def _clip(place: int, width: int) -> int:
    return min(max(place, 0), width)


def rounded(count: float, stderr: float) -> str:
    """Write an estimate with its standard error."""
    return f"{count:,.0f} ± {stderr:,.0f}"
