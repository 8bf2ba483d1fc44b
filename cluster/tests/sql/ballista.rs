//! The shipped queries on Ballista: in this process, and on a scheduler and two executors in processes of their own, of
//! which some are killed.

#![allow(clippy::disallowed_types)] // schedulers and executors on the loopback

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::job::{Tables, answers, baseline, expected, job, options};
use ballista_core::serde::BallistaCodec;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_executor::new_standalone_executor;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;
use ballista_scheduler::standalone::new_standalone_scheduler;
use multi_rank_sql::{Engine, Error, Options, Query, answer};
use tokio::runtime::{Builder, Runtime};

#[test]
fn ballista_in_this_process_answers_as_plain_rust_does_five_times_byte_for_byte() {
    let (job, baseline) = (job(), baseline());
    let runtime = runtime();
    let scheduler = runtime.block_on(async {
        let port = new_standalone_scheduler().await.unwrap().port();
        let client = SchedulerGrpcClient::connect(format!("http://localhost:{port}")).await.unwrap();
        new_standalone_executor(client, 2, BallistaCodec::default()).await.unwrap();
        format!("localhost:{port}")
    });
    let expected = expected(&job, &baseline);
    let options = options(&job, Some(&baseline), Engine::Ballista { scheduler });
    for _ in 0..5 {
        assert_eq!(answers(&options), expected);
    }
}

#[test]
fn a_scheduler_and_two_executors_answer_as_plain_rust_does_five_times_byte_for_byte() {
    let (job, baseline) = (job(), baseline());
    let cluster = Cluster::start();
    let expected = expected(&job, &baseline);
    let options = options(&job, Some(&baseline), cluster.engine());
    for _ in 0..5 {
        assert_eq!(answers(&options), expected);
    }
}

#[test]
fn a_query_whose_executor_is_killed_ends_with_the_right_answer_or_an_error() {
    let job = job();
    let mut cluster = Cluster::start();
    let local = answer(&long_query(), &options(&job, None, Engine::DataFusion)).unwrap();
    let (outcome, took) = cluster.ask_and_kill(&job, 1);
    println!("one of two executors killed: {} after {took:?}", said(&outcome));
    match outcome {
        Ok(answer) => assert_eq!(answer, local),
        Err(error) => assert!(matches!(error, Error::Engine { .. } | Error::TimedOut { .. }), "{error}"),
    }
    assert!(took < TIMEOUT + Duration::from_secs(10));
}

#[test]
fn a_query_whose_executors_are_all_killed_ends_with_an_error() {
    let job = job();
    let mut cluster = Cluster::start();
    let (outcome, took) = cluster.ask_and_kill(&job, 2);
    println!("both executors killed: {} after {took:?}", said(&outcome));
    assert!(matches!(outcome, Err(Error::Engine { .. } | Error::TimedOut { .. })));
    assert!(took < TIMEOUT + Duration::from_secs(10));
}

#[test]
fn tables_that_a_cluster_does_not_see_or_that_are_damaged_are_named() {
    let job = job();
    let cluster = Cluster::start();
    let options = options(&job, None, cluster.engine());
    let ask = || answer(&Query { name: "q".into(), text: "SELECT sum(calls) FROM ops".into() }, &options);
    let ops = job.folder.join("rank-00006").join("ops.parquet");
    std::fs::write(&ops, "no table").unwrap();
    let error = ask().unwrap_err().to_string();
    println!("damaged table: {error}");
    assert!(error.starts_with("q: Ballista at 127.0.0.1:"), "{error}");
    std::fs::remove_file(ops).unwrap();
    let error = ask().unwrap_err().to_string();
    assert!(error.ends_with(
        "rank-00006/ops.parquet: is missing; map the recording of its folder again, or remove the folder"
    ));
}

/// Scheduler or executor, in a process that another test starts.
#[test]
#[ignore = "a process of the other tests"]
fn serve() {
    let role = std::env::var("MULTI_RANK_SQL_ROLE").unwrap_or_default();
    let number = |name: &str| std::env::var(name).unwrap().parse::<u16>().unwrap();
    let runtime = runtime();
    match role.as_str() {
        "scheduler" => runtime.block_on(async {
            let port = number("MULTI_RANK_SQL_SCHEDULER");
            let config = SchedulerConfig {
                bind_host: "127.0.0.1".to_owned(),
                external_host: "127.0.0.1".to_owned(),
                bind_port: port,
                executor_timeout_seconds: 20,
                expire_dead_executor_interval_seconds: 2,
                no_executors_grace_period_seconds: 20,
                ..SchedulerConfig::default()
            };
            let cluster = BallistaCluster::new_from_config(&config).await.unwrap();
            start_server(cluster, SocketAddr::from(([127, 0, 0, 1], port)), Arc::new(config)).await.unwrap();
        }),
        "executor" => runtime.block_on(async {
            let config = ExecutorProcessConfig {
                external_host: Some("127.0.0.1".to_owned()),
                scheduler_host: "127.0.0.1".to_owned(),
                scheduler_port: number("MULTI_RANK_SQL_SCHEDULER"),
                scheduler_connect_timeout_seconds: 20,
                port: number("MULTI_RANK_SQL_PORT"),
                grpc_port: number("MULTI_RANK_SQL_GRPC_PORT"),
                vcores: 1,
                work_dir: std::env::var("MULTI_RANK_SQL_WORK").ok(),
                executor_heartbeat_interval_seconds: 5,
                ..ExecutorProcessConfig::default()
            };
            start_executor_process(Arc::new(config)).await.unwrap();
        }),
        _ => {}
    }
}

/// Unoptimised engines need a deep stack.
fn runtime() -> Runtime {
    Builder::new_multi_thread().enable_all().thread_stack_size(64 << 20).build().unwrap()
}

const TIMEOUT: Duration = Duration::from_secs(90);

/// A query of several stages that takes a while.
fn long_query() -> Query {
    let text = "SELECT a.rank, count(*) AS pairs, sum(a.duration_ns - b.duration_ns) AS difference_ns \
                FROM collectives a JOIN collectives b ON a.dtype = b.dtype JOIN collectives c ON c.\"group\" = b.\"group\" \
                WHERE a.start_ns + b.start_ns < c.start_ns + 1000000000000 GROUP BY a.rank ORDER BY a.rank";
    Query { name: "long".to_owned(), text: text.to_owned() }
}

fn said(outcome: &Result<String, Error>) -> String {
    match outcome {
        Ok(_) => "answered".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// A scheduler and two executors of one core.
struct Cluster {
    scheduler: u16,
    processes: Vec<Child>,
    _work: tempfile::TempDir,
}

impl Cluster {
    fn start() -> Self {
        let work = tempfile::tempdir().unwrap();
        let [scheduler, ports @ ..] = free_ports::<5>();
        let mut processes = vec![process("scheduler", scheduler, [0, 0], work.path())];
        listens(scheduler);
        for (number, ports) in ports.chunks(2).enumerate() {
            let work = work.path().join(number.to_string());
            std::fs::create_dir(&work).unwrap();
            processes.push(process("executor", scheduler, [ports[0], ports[1]], &work));
            listens(ports[0]);
        }
        Cluster { scheduler, processes, _work: work }
    }

    fn engine(&self) -> Engine {
        Engine::Ballista { scheduler: format!("127.0.0.1:{}", self.scheduler) }
    }

    /// Asks the long query, and kills so many executors while it runs.
    fn ask_and_kill(&mut self, job: &Tables, executors: usize) -> (Result<String, Error>, Duration) {
        let options = Options { timeout: TIMEOUT, ..options(job, None, self.engine()) };
        // When both executors are known to the scheduler, this is answered.
        answer(&Query { name: "first".into(), text: "SELECT count(*) FROM rank".into() }, &options).unwrap();
        let began = Instant::now();
        let asked = std::thread::spawn(move || answer(&long_query(), &options));
        std::thread::sleep(Duration::from_secs(3));
        assert!(!asked.is_finished(), "the query is over before an executor is killed");
        for executor in &mut self.processes[1..=executors] {
            executor.kill().unwrap();
            executor.wait().unwrap();
        }
        (asked.join().unwrap(), began.elapsed())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for process in &mut self.processes {
            // One that was killed before is gone already.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn process(role: &str, scheduler: u16, ports: [u16; 2], work: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "ballista::serve", "--ignored", "--nocapture"])
        .env("MULTI_RANK_SQL_ROLE", role)
        .env("MULTI_RANK_SQL_SCHEDULER", scheduler.to_string())
        .env("MULTI_RANK_SQL_PORT", ports[0].to_string())
        .env("MULTI_RANK_SQL_GRPC_PORT", ports[1].to_string())
        .env("MULTI_RANK_SQL_WORK", work)
        .env("RUST_MIN_STACK", (64 << 20).to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Ports that nobody listened on a moment ago.
fn free_ports<const N: usize>() -> [u16; N] {
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.each_ref().map(|listener| listener.local_addr().unwrap().port())
}

fn listens(port: u16) {
    let began = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(began.elapsed() < Duration::from_secs(60), "nobody listens on port {port}");
        std::thread::sleep(Duration::from_millis(100));
    }
}
