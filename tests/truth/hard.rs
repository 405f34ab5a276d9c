// The same in Rust: closures, trait objects, generic recursion, panics that are
// caught, sorting with callbacks, threads. Works until it is killed.
use std::collections::BTreeMap;
use std::panic;
use std::thread;
use std::time::Duration;

trait Shape {
    fn area(&self, n: u64) -> u64;
}

struct Leaf;
struct Nested<T: Shape>(T);

impl Shape for Leaf {
    #[inline(never)]
    fn area(&self, n: u64) -> u64 {
        if n % 7 == 0 {
            panic!("seven {}", n);
        }
        thread::sleep(Duration::from_micros(n % 40));
        n
    }
}

impl<T: Shape> Shape for Nested<T> {
    #[inline(never)]
    fn area(&self, n: u64) -> u64 {
        self.0.area(n + 1).wrapping_add(n)
    }
}

#[inline(never)]
fn call(f: &dyn Fn(u64) -> u64, n: u64) -> u64 {
    f(n) + 1
}

#[inline(never)]
fn recurse(depth: u64, f: &dyn Fn(u64) -> u64) -> u64 {
    if depth == 0 {
        call(f, depth)
    } else {
        recurse(depth - 1, f).wrapping_mul(3) ^ depth
    }
}

fn work(mut n: u64) {
    let shape: Box<dyn Shape + Send + Sync> = Box::new(Nested(Nested(Nested(Nested(Leaf)))));
    loop {
        n += 1;
        let caught = panic::catch_unwind(panic::AssertUnwindSafe(|| recurse(n % 130, &|k| call(&|m| shape.area(m), k + n))));
        let mut words: Vec<String> = (0..200u64).map(|i| (i * n).to_string()).collect();
        words.sort_by(|a, b| b.cmp(a));
        let mut index = BTreeMap::new();
        for word in &words {
            *index.entry(word.len()).or_insert(0u64) += caught.as_ref().map_or(1, |v| v % 3);
        }
        if index.len() > 1000 {
            return;
        }
    }
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    for start in [1, 100] {
        thread::spawn(move || work(start));
    }
    work(1000);
}
