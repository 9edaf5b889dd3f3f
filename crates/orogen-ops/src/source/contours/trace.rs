//! Where a field on a grid has a height: short pieces of line, cell by cell (marching squares).

/// The pieces of line on which bilinear heights, by column and row, are `level`, in columns and rows.
///
/// Where all four sides of a cell are crossed, the mean of its corners decides which pairs belong together.
pub(super) fn pieces(
    height: &dyn Fn(usize, usize) -> f64,
    cols: usize,
    rows: usize,
    level: f64,
) -> Vec<[[f64; 2]; 2]> {
    let mut found = Vec::new();
    for row in 0..rows - 1 {
        for col in 0..cols - 1 {
            let corners = [(col, row), (col + 1, row), (col + 1, row + 1), (col, row + 1)];
            let heights = corners.map(|(c, r)| height(c, r));
            let mut crossed = [[0.0; 2]; 4];
            let mut count = 0;
            for k in 0..4 {
                let (a, b) = (heights[k], heights[(k + 1) % 4]);
                if (a < level) != (b < level) {
                    let t = (level - a) / (b - a);
                    let ((c0, r0), (c1, r1)) = (corners[k], corners[(k + 1) % 4]);
                    let along = |from: usize, to: usize| from as f64 + t * (to as f64 - from as f64);
                    crossed[count] = [along(c0, c1), along(r0, r1)];
                    count += 1;
                }
            }
            match count {
                2 => found.push([crossed[0], crossed[1]]),
                4 => {
                    // Crossings are in order round the cell; the first lies between corners 0 and 1.
                    let mean = 0.25 * heights.iter().sum::<f64>();
                    if (mean < level) == (heights[0] < level) {
                        found.extend([[crossed[0], crossed[1]], [crossed[2], crossed[3]]]);
                    } else {
                        found.extend([[crossed[3], crossed[0]], [crossed[1], crossed[2]]]);
                    }
                }
                _ => {}
            }
        }
    }
    found
}
