//! Letters drawn with a pen: enough to label a plot, without a font file.
//!
//! A letter is a few strokes over points of a grid four wide: capitals stand from 0 to 6, small letters from 2, tails reach
//! to 8. Each point is two digits, column and row.

/// The row that letters stand on.
pub const BASE: f64 = 6.0;
/// Room between two letters.
const GAP: f64 = 1.5;
/// Room of a blank.
const BLANK: f64 = 2.0;
/// What is drawn for a letter that is not here.
const BOX: &str = "0242460602";

/// The strokes of a letter; none for a blank.
fn strokes(letter: char) -> &'static str {
    match letter {
        ' ' => "",
        '0' => "103041453616050110",
        '1' => "112026",
        '2' => "01103041420646",
        '3' => "01103041423323 334445361605",
        '4' => "36300444",
        '5' => "400002324345361605",
        '6' => "413010010516364544331304",
        '7' => "004016",
        '8' => "103041423313020110 1304051636454433",
        '9' => "051636454130100102133342",
        'A' => "062046 1434",
        'B' => "06003041423303 3344453606",
        'C' => "4130100105163645",
        'D' => "06002042442606",
        'E' => "40000646 0333",
        'F' => "400006 0333",
        'G' => "41301001051636454323",
        'H' => "0006 4046 0343",
        'I' => "2026",
        'J' => "4045361605",
        'K' => "0006 4004 1346",
        'L' => "000646",
        'M' => "0600234046",
        'N' => "06004640",
        'O' => "103041453616050110",
        'P' => "06003041423303",
        'Q' => "103041453616050110 2446",
        'R' => "06003041423303 2346",
        'S' => "413010010213334445361605",
        'T' => "0040 2026",
        'U' => "000516364540",
        'V' => "002640",
        'W' => "0016233640",
        'X' => "0046 4006",
        'Y' => "002340 2326",
        'Z' => "00400646",
        'a' => "4332120305163645 4246",
        'b' => "0006 0312324345361605",
        'c' => "4332120305163645",
        'd' => "4046 4332120305163645",
        'e' => "04444332120305163645",
        'f' => "30201116 0232",
        'g' => "4332120305163645 4247381807",
        'h' => "0006 0312324346",
        'i' => "2226 2020",
        'j' => "22271808 2020",
        'k' => "0006 3205 1436",
        'l' => "2026",
        'm' => "0206 03122326 23324346",
        'n' => "0206 0312324346",
        'o' => "123243453616050312",
        'p' => "0208 0312324345361605",
        'q' => "4248 4332120305163645",
        'r' => "0206 031232",
        's' => "43321203143445361605",
        't' => "10152636 0232",
        'u' => "0205163645 4246",
        'v' => "022642",
        'w' => "0216243642",
        'x' => "0246 4206",
        'y' => "0226 4218",
        'z' => "02420646",
        '.' => "2626",
        ',' => "2617",
        ':' => "2323 2626",
        ';' => "2323 2617",
        '-' => "1434",
        '_' => "0747",
        '+' => "2226 0444",
        '=' => "0343 0545",
        '/' => "0640",
        '\'' => "2021",
        '!' => "2024 2626",
        '?' => "01103041422324 2626",
        '(' => "30212536",
        ')' => "10212516",
        '[' => "30202636",
        ']' => "10202616",
        '%' => "0640 1010 3636",
        '#' => "1016 3036 0242 0444",
        '&' => "46011020210405162644",
        '*' => "2024 0133 4113",
        '<' => "420446",
        '>' => "024406",
        _ => BOX,
    }
}

/// The strokes of a line of text from left to right, in units of the grid, and how wide it is.
pub fn lines(text: &str) -> (Vec<Vec<[f64; 2]>>, f64) {
    let (mut lines, mut right) = (Vec::new(), 0.0);
    for letter in text.chars() {
        let strokes = strokes(letter);
        let digit = |byte: u8| f64::from(byte.saturating_sub(b'0'));
        let points = |stroke: &str| -> Vec<[f64; 2]> {
            stroke.as_bytes().chunks_exact(2).map(|at| [digit(at[0]), digit(at[1])]).collect()
        };
        let letter: Vec<Vec<[f64; 2]>> = strokes.split_ascii_whitespace().map(points).collect();
        let columns = || letter.iter().flatten().map(|at| at[0]);
        let (from, to) = columns().fold((f64::INFINITY, 0.0f64), |(a, b), x| (a.min(x), b.max(x)));
        if from > to {
            right += BLANK + GAP;
            continue;
        }
        let moved = |at: [f64; 2]| [at[0] - from + right, at[1]];
        lines.extend(letter.iter().map(|stroke| stroke.iter().map(|&at| moved(at)).collect()));
        right += to - from + GAP;
    }
    (lines, (right - GAP).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_is_whole_and_its_own() {
        let mut seen = std::collections::BTreeMap::new();
        for letter in (' '..='~').filter(|&letter| strokes(letter) != BOX) {
            for stroke in strokes(letter).split_ascii_whitespace() {
                assert!(stroke.len() >= 4 && stroke.len() % 2 == 0, "{letter:?}");
                for at in stroke.as_bytes().chunks(2) {
                    assert!((b'0'..=b'4').contains(&at[0]) && (b'0'..=b'8').contains(&at[1]), "{letter:?}");
                }
            }
            // Some are one to people too.
            if !"0OIl".contains(letter) {
                assert_eq!(seen.insert(strokes(letter), letter), None, "{letter:?}");
            }
        }
        assert!(seen.len() > 75);
    }

    #[test]
    fn text_runs_to_the_right() {
        let (strokes, width) = lines("1 km");
        assert!(strokes.iter().flatten().all(|at| at[0] >= 0.0 && at[0] <= width));
        assert_eq!(lines("").1, 0.0);
        assert_eq!(lines("ä"), lines("ß"), "what is missing is a box");
    }
}
