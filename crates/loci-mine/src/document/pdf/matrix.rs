//! Transformation matrices of PDF.

/// A transformation, as the six numbers that PDF uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Matrix {
    a: f64,
    b: f64,
    c: f64,
    d: f64,
    pub(super) x: f64,
    pub(super) y: f64,
}

impl Matrix {
    pub(super) const IDENTITY: Matrix = Matrix {
        a: 1.0,
        b: 0.0,
        c: 0.0,
        d: 1.0,
        x: 0.0,
        y: 0.0,
    };

    /// Builds a matrix from a function that returns each of the six numbers.
    pub(super) fn of(number: impl Fn(usize) -> f64) -> Matrix {
        Matrix {
            a: number(0),
            b: number(1),
            c: number(2),
            d: number(3),
            x: number(4),
            y: number(5),
        }
    }

    /// Returns the transformation that applies this one and then `next`.
    pub(super) fn then(&self, next: &Matrix) -> Matrix {
        Matrix {
            a: self.a * next.a + self.b * next.c,
            b: self.a * next.b + self.b * next.d,
            c: self.c * next.a + self.d * next.c,
            d: self.c * next.b + self.d * next.d,
            x: self.x * next.a + self.y * next.c + next.x,
            y: self.x * next.b + self.y * next.d + next.y,
        }
    }

    /// Returns this transformation with a translation in its own plane before it.
    pub(super) fn moved(&self, x: f64, y: f64) -> Matrix {
        Matrix {
            x: x * self.a + y * self.c + self.x,
            y: x * self.b + y * self.d + self.y,
            ..*self
        }
    }

    /// The direction of the text line, or right if there is none.
    pub(super) fn direction(&self) -> (f64, f64) {
        let length = self.a.hypot(self.b);
        if length > 0.0 && length.is_finite() {
            (self.a / length, self.b / length)
        } else {
            (1.0, 0.0)
        }
    }

    /// The scale along the line and across it.
    pub(super) fn scale(&self) -> (f64, f64) {
        (self.a.hypot(self.b), self.c.hypot(self.d))
    }
}
