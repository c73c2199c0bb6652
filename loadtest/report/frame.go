package report

import "math"

// frame maps seconds and values to places in a drawing.
type frame struct {
	x, y, width, height float64
	seconds             float64
	low, high           float64
	log                 bool
}

func (f frame) atX(second float64) float64 {
	return f.x + f.width*min(max(second/f.seconds, 0), 1)
}

func (f frame) atY(value float64) float64 {
	part := (value - f.low) / (f.high - f.low)
	if f.log {
		part = (math.Log10(max(value, f.low)) - math.Log10(f.low)) / (math.Log10(f.high) - math.Log10(f.low))
	}
	return f.y + f.height*(1-min(max(part, 0), 1))
}

// ticks are the values at which a line is drawn.
func (f frame) ticks() (ticks []float64) {
	if f.log {
		for value := f.low; value <= f.high*1.001; value *= 10 {
			ticks = append(ticks, value)
		}
		return ticks
	}
	step := niceStep(f.high / 4)
	for value := 0.0; value <= f.high; value += step {
		ticks = append(ticks, value)
	}
	return ticks
}

// niceStep is the next of 1, 2 and 5 times a power of ten.
func niceStep(rough float64) float64 {
	if rough <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= rough*0.999 {
			return factor * power
		}
	}
	return 10 * power
}
