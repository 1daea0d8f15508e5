//! The connection between a controller and its proxy. It passes on bytes and does not interpret them, so its faults are
//! those of networks.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;

/// The number of connections that may wait to be accepted.
const BACKLOG: u32 = 256;

/// The state of all connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// Bytes are passed on.
    #[default]
    Sound,
    /// Bytes are kept, and passed on afterwards.
    Still,
    /// Nothing listens, and open connections are reset.
    Refused,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    mode: Mode,
    /// Each increment resets the open connections.
    resets: u32,
    /// Each increment silences the open connections for ever.
    forgotten: u32,
}

/// The near end of a wire; dropping it ends the wire.
pub(super) struct Wire {
    address: SocketAddr,
    state: watch::Sender<State>,
    /// Keeps the port while nothing listens: bound, so that nothing else gets it, and without a listener, so that
    /// connections are refused.
    _port: TcpSocket,
}

impl Wire {
    /// Lays a wire to this address.
    pub(super) fn lay(target: SocketAddr) -> anyhow::Result<Self> {
        let port = socket((Ipv4Addr::LOCALHOST, 0).into())?;
        let address = port.local_addr()?;
        let (state, seen) = watch::channel(State::default());
        tokio::spawn(listen(address, target, seen));
        Ok(Self {
            address,
            state,
            _port: port,
        })
    }

    /// The address of the near end.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Passes on bytes from now on; silenced connections stay silent.
    pub(super) fn mend(&self) {
        self.state.send_modify(|state| state.mode = Mode::Sound);
    }

    /// Keeps bytes from now on, until the wire is mended.
    pub(super) fn hold(&self) {
        self.state.send_modify(|state| state.mode = Mode::Still);
    }

    /// Closes the port and resets the open connections from now on.
    pub(super) fn stop_listening(&self) {
        self.state.send_modify(|state| state.mode = Mode::Refused);
    }

    /// Resets the open connections.
    pub(super) fn reset(&self) {
        self.state.send_modify(|state| state.resets += 1);
    }

    /// Silences the open connections for ever, as a router does that has lost them.
    pub(super) fn forget(&self) {
        self.state.send_modify(|state| state.forgotten += 1);
    }
}

/// A socket of this address. Several may be bound as long as only one listens.
fn socket(address: SocketAddr) -> std::io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// Listens whenever the mode allows it, until the handle is dropped.
async fn listen(address: SocketAddr, target: SocketAddr, mut seen: watch::Receiver<State>) -> std::io::Result<()> {
    let each = seen.clone();
    while seen.wait_for(|state| state.mode != Mode::Refused).await.is_ok() {
        let listener: TcpListener = socket(address)?.listen(BACKLOG)?;
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    tokio::spawn(relay(accepted?.0, target, each.clone()));
                }
                refused = seen.wait_for(|state| state.mode == Mode::Refused) => {
                    refused.map_err(std::io::Error::other)?;
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Passes on bytes in both directions, as the mode allows.
async fn relay(mut near: TcpStream, target: SocketAddr, mut seen: watch::Receiver<State>) -> std::io::Result<()> {
    let initial = *seen.borrow_and_update();
    let mut far = TcpStream::connect(target).await?;
    {
        let mut copied = std::pin::pin!(copy_bidirectional(&mut near, &mut far));
        loop {
            let state = *seen.borrow_and_update();
            if state.mode == Mode::Refused || state.resets > initial.resets {
                break;
            }
            let passes = state.mode == Mode::Sound && state.forgotten == initial.forgotten;
            tokio::select! {
                copied = &mut copied, if passes => return copied.map(drop),
                changed = seen.changed() => changed.map_err(std::io::Error::other)?,
            }
        }
    }
    near.set_zero_linger()
}
