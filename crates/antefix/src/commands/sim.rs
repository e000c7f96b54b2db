mod check;
mod profile;

use std::process::ExitCode;

use antefix_http::server::{Clock, ServerOptions, SimServer};
use antefix_sim::{Billed, Script, Simulator};

use crate::cli::{ClockArg, SimArgs};
use crate::failure::Failure;
use crate::out::{say, tell};
use crate::text::grouped;

/// `antefix sim`
pub fn sim(args: &SimArgs) -> Result<ExitCode, Failure> {
    if let Some(trace) = &args.check {
        return check::check(trace, args.json);
    }
    let script = match &args.script {
        Some(path) => {
            let name = path.display();
            let text = crate::input::read_text(path)
                .map_err(|error| Failure::usage(format!("cannot read `{name}`: {error}")))?;
            Script::parse(&text).map_err(|error| Failure::usage(format!("`{name}`: {error}")))?
        }
        None => Script::default_script(),
    };
    let config = profile::config(args)?;
    let chat = config.chat.is_some();
    let simulator = Simulator::new(config, script);
    let options = ServerOptions {
        port: args.port,
        clock: match args.clock {
            ClockArg::Real => Clock::Real,
            ClockArg::Virtual => Clock::Virtual,
        },
        capture: args.capture.clone(),
        cut_after: args.cut_after,
        chunk: args.chunk,
        ..ServerOptions::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let server = SimServer::start(options, simulator)
            .await
            .map_err(|error| Failure::failed(format!("cannot listen on 127.0.0.1:{}: {error}", args.port)))?;
        say!("{}", server.base_url());
        introduce(&server.base_url(), chat);
        tokio::select! {
            () = stopped() => {}
            () = log(&server) => {}
        }
        server.shutdown().await;
        Ok(ExitCode::SUCCESS)
    })
}

fn introduce(base_url: &str, chat: bool) {
    let (api, variables) = if chat {
        ("Chat Completions", format!("OPENAI_BASE_URL={base_url}/v1 OPENAI_API_KEY=sim"))
    } else {
        ("the Messages API", format!("ANTHROPIC_BASE_URL={base_url} ANTHROPIC_API_KEY=sim"))
    };
    tell!("a simulator of {api} and its prompt cache; it answers from a script, not with a model");
    tell!("point an agent at it: {variables}");
}

/// Prints a line for each request that was answered; never returns.
async fn log(server: &SimServer) {
    let simulator = server.simulator();
    let mut shown = 0;
    loop {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        let lines: Vec<String> = {
            let simulator = simulator.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            simulator
                .log()
                .iter()
                .enumerate()
                .skip(shown)
                .map(|(index, billed)| log_line(index + 1, billed))
                .collect()
        };
        shown += lines.len();
        for line in lines {
            tell!("{line}");
        }
    }
}

fn log_line(number: usize, billed: &Billed) -> String {
    let written = billed.write_5m + billed.write_1h;
    format!(
        "{number:>4}  {}  {:<22} read {:>9}  written {:>9}  uncached {:>7}  output {:>6}",
        billed.status,
        billed.model,
        grouped(billed.read),
        grouped(written),
        grouped(billed.uncached),
        grouped(billed.output),
    )
}

/// Returns when the process is asked to end.
async fn stopped() {
    let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) else {
        return drop(tokio::signal::ctrl_c().await);
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}
