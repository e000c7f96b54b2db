use std::process::ExitCode;

use antefix_http::server::{Clock, ServerOptions, SimServer};
use antefix_sim::{Config, Script, Simulator};

use crate::cli::{ClockArg, Profile, SimArgs};
use crate::failure::Failure;
use crate::out::say;

/// `antefix sim`
pub fn sim(args: &SimArgs) -> Result<ExitCode, Failure> {
    let script = match &args.script {
        Some(path) => {
            let name = path.display();
            let text = std::fs::read_to_string(path)
                .map_err(|error| Failure::usage(format!("cannot read `{name}`: {error}")))?;
            Script::parse(&text).map_err(|error| Failure::usage(format!("`{name}`: {error}")))?
        }
        None => Script::default_script(),
    };
    let Profile::Anthropic = args.profile;
    let simulator = Simulator::new(Config::default(), script);
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
        eprintln!(
            "a simulator of the Messages API and its prompt cache; it answers from a script, not with a model"
        );
        eprintln!("point an agent at it: ANTHROPIC_BASE_URL={} ANTHROPIC_API_KEY=sim", server.base_url());
        stopped().await;
        server.shutdown().await;
        Ok(ExitCode::SUCCESS)
    })
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
