//! CPU of a search by size of the palace: `speed LOCOMO.json LOCI [DRAWERS]`, where LOCI is the release binary.
//!
//! Fills a palace with chunks of about 500 characters made of the data set's turns; from the second round on a fifth of the words is
//! replaced, so that copies differ. Then asks every tenth question in one process, and some in a process each.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "an example fails where it stands"
)]

use std::process::{Command, Stdio};

use loci_palace::search::Request;
use loci_palace::{Batch, Metadata, OpenOptions, Palace};
use serde_json::{Value, json};

fn thread_cpu_ms() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}

fn children_cpu_ms() -> f64 {
    // `/proc/self/stat`, fields 16 and 17: CPU of children that were waited for, in hundredths of a second.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    (fields[13].parse::<f64>().unwrap() + fields[14].parse::<f64>().unwrap()) * 10.0
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % n
    }
}

fn fill(palace: &Palace, data: &Value, drawers: usize) {
    let (memory, _) = palace.memory("drawers", true).unwrap();
    let mut sessions = Vec::new();
    for conversation in data.as_array().unwrap() {
        for (name, turns) in conversation["conversation"].as_object().unwrap() {
            if let Some(turns) = turns.as_array() {
                let date = &conversation["conversation"][format!("{name}_date_time")];
                sessions.push((&conversation["sample_id"], name, date, turns));
            }
        }
    }
    let words: Vec<&str> = sessions
        .iter()
        .flat_map(|(_, _, _, turns)| turns.iter())
        .flat_map(|turn| turn["text"].as_str().unwrap_or_default().split(' '))
        .collect();
    let mut random = Random(5);
    let (mut ids, mut texts, mut metadatas) = (Vec::new(), Vec::new(), Vec::new());
    let mut count = 0;
    for round in 0.. {
        for (wing, session, date, turns) in &sessions {
            let mut text = String::new();
            for (at, turn) in turns.iter().enumerate() {
                text.push_str(turn["speaker"].as_str().unwrap_or_default());
                text.push(':');
                for word in turn["text"].as_str().unwrap_or_default().split(' ') {
                    let replaced = round > 0 && random.below(5) == 0;
                    text.push(' ');
                    text.push_str(if replaced {
                        words[random.below(words.len())]
                    } else {
                        word
                    });
                }
                text.push('\n');
                if text.len() < 500 && at + 1 < turns.len() {
                    continue;
                }
                ids.push(format!("d{count}"));
                texts.push(std::mem::take(&mut text));
                let file = format!("{session}-{round}");
                metadatas.push(
                    Metadata::from_json(&json!({"wing": wing, "source_file": file, "start_line": at + 1, "date": date}))
                        .unwrap(),
                );
                count += 1;
                if ids.len() == 500 || count == drawers {
                    let batch = Batch::new(std::mem::take(&mut ids))
                        .documents(std::mem::take(&mut texts))
                        .metadatas(std::mem::take(&mut metadatas));
                    memory.collection.add(&batch).unwrap();
                }
                if count == drawers {
                    return;
                }
            }
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let data: Value = serde_json::from_slice(&std::fs::read(&arguments[1]).unwrap()).unwrap();
    let drawers = arguments.get(3).map_or(20_000, |n| n.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("palace");
    let palace = Palace::open(&path, &OpenOptions::create()).unwrap();
    let before = thread_cpu_ms();
    fill(&palace, &data, drawers);
    println!(
        "{drawers} drawers, written in {:.0} ms CPU",
        thread_cpu_ms() - before
    );
    palace.close().unwrap();
    let questions: Vec<&str> = data
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|conversation| conversation["qa"].as_array().unwrap())
        .filter_map(|question| question["question"].as_str())
        .step_by(10)
        .collect();
    let palace = Palace::open(&path, &OpenOptions::existing()).unwrap();
    for round in ["first round", "warm", "warm"] {
        let mut times: Vec<f64> = Vec::new();
        for question in &questions {
            let before = thread_cpu_ms();
            palace.search(&Request::new(*question)).unwrap();
            times.push(thread_cpu_ms() - before);
        }
        times.sort_by(f64::total_cmp);
        let at = |percent: usize| times[(times.len() - 1) * percent / 100];
        println!(
            "{round}: p50 {:.2} ms, p95 {:.2} ms of {} searches",
            at(50),
            at(95),
            times.len()
        );
    }
    palace.close().unwrap();
    let before = children_cpu_ms();
    let cold = questions.iter().step_by(4).count();
    for question in questions.iter().step_by(4) {
        let run = Command::new(&arguments[2])
            .args(["search", question, "--json", "--palace"])
            .arg(&path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(run.unwrap().success(), "{question}");
    }
    println!(
        "a process each: {:.1} ms CPU, mean of {cold}",
        (children_cpu_ms() - before) / cold as f64
    );
}
