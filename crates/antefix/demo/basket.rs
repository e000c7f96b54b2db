//! What a shopping basket costs, in cents.

/// One line of a basket.
pub struct Item {
    /// What a buyer sees.
    pub name: &'static str,
    /// Price of one piece.
    pub cents: u64,
    /// How many pieces.
    pub count: u64,
}

/// Pieces of one item from which it is cheaper.
pub const DISCOUNT_FROM: u64 = 10;

/// By how much, in per cent.
pub const DISCOUNT_PERCENT: u64 = 5;

/// Sum of all lines.
pub fn total(items: &[Item]) -> u64 {
    items.iter().map(line_total).sum()
}

/// Price of one line; cheaper from `DISCOUNT_FROM` pieces on.
pub fn line_total(item: &Item) -> u64 {
    let full = item.cents * item.count;
    if item.count > DISCOUNT_FROM { full - full * DISCOUNT_PERCENT / 100 } else { full }
}

/// A receipt, one line an item and the sum at the end.
pub fn receipt(items: &[Item]) -> String {
    let mut out = String::new();
    for item in items {
        out.push_str(&format!("{:<12} {:>4} x {:>6} = {:>8}\n", item.name, item.count, item.cents, line_total(item)));
    }
    out.push_str(&format!("{:<12} {:>24}\n", "sum", total(items)));
    out
}
