//! Rust panics and probed functions: panics [CALLS]. Every second call of `leave` and of
//! `guarded` (which has a value to drop) panics, and its caller catches that; `catcher` catches
//! its own. Speaks as tests/victims/victim.h has it.

use std::io::{self, BufRead, Write};
use std::panic::{self, catch_unwind};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

static DROPPED: AtomicI64 = AtomicI64::new(0);

/// The same value, but the compiler does not know (std's opaque is too new for some).
fn opaque(x: i64) -> i64 {
    unsafe { std::ptr::read_volatile(&x) }
}

struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Relaxed);
    }
}

#[inline(never)]
fn fail(i: i64) {
    if opaque(i) % 2 == 1 {
        panic!("odd");
    }
}

#[no_mangle]
#[inline(never)]
pub fn leave(i: i64) -> i64 {
    fail(i);
    opaque(i) * 3
}

#[no_mangle]
#[inline(never)]
pub fn guarded(i: i64) -> i64 {
    let guard = Guard;
    fail(i);
    let result = opaque(i) * 5;
    drop(guard);
    result
}

#[no_mangle]
#[inline(never)]
pub fn catcher(i: i64) -> i64 {
    match catch_unwind(|| fail(i)) {
        Ok(()) => i,
        Err(_) => i + 1,
    }
}

fn call(function: fn(i64) -> i64, i: i64) -> (i64, i64) {
    match catch_unwind(|| function(opaque(i))) {
        Ok(value) => (value, 1),
        Err(_) => (i * 7, 0),
    }
}

fn round(calls: i64) -> String {
    let functions: [(&str, fn(i64) -> i64); 3] =
        [("leave", leave), ("guarded", guarded), ("catcher", catcher)];
    let (mut made, mut back, mut sum) = (Vec::new(), Vec::new(), 0i64);
    for (name, function) in functions {
        let mut returned = 0;
        for i in 0..calls {
            let (value, n) = call(function, i);
            sum = (sum * 31 + value) % 1000003;
            returned += n;
        }
        made.push(format!("\"{}\":{}", name, calls));
        back.push(format!("\"{}\":{}", name, returned));
    }
    format!(
        "{{\"calls\":{{{}}},\"returned\":{{{}}},\"result\":{},\"dropped\":{}}}\n",
        made.join(","),
        back.join(","),
        sum,
        DROPPED.load(Relaxed)
    )
}

fn say(text: &str) {
    let mut out = io::stdout();
    out.write_all(text.as_bytes()).and_then(|_| out.flush()).unwrap();
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let calls = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(10000);
    say(&format!("ready {}\n", std::process::id()));
    for line in io::stdin().lock().lines() {
        line.unwrap();
        say(&round(calls));
    }
}
