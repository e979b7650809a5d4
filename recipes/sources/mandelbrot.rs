//! Counts the points of a Mandelbrot set. Each thread has an equal share of the rows, which are unequal work.

use std::thread;

const SIZE: usize = 1200;
const MOST: u32 = 400;

fn steps(row: usize, column: usize) -> u32 {
    let (a, b) = (column as f64 * 3.0 / SIZE as f64 - 2.0, row as f64 * 3.0 / SIZE as f64 - 2.2);
    let (mut x, mut y, mut count) = (0.0f64, 0.0f64, 0);
    while count < MOST && x * x + y * y <= 4.0 {
        (x, y) = (x * x - y * y + a, 2.0 * x * y + b);
        count += 1;
    }
    count
}

fn main() {
    let threads: usize = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(1);
    let total: u64 = thread::scope(|scope| {
        let shares: Vec<_> = (0..threads)
            .map(|own| {
                scope.spawn(move || {
                    let rows = SIZE * own / threads..SIZE * (own + 1) / threads;
                    rows.flat_map(|row| (0..SIZE).map(move |column| (row, column)))
                        .map(|(row, column)| u64::from(steps(row, column)))
                        .sum::<u64>()
                })
            })
            .collect();
        shares.into_iter().map(|share| share.join().unwrap()).sum()
    });
    println!("steps: {total}");
}
