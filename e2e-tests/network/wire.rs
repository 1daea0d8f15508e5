//! The wire between a controller and its proxy. It passes on bytes and knows nothing of what they say, so what it does
//! wrong is what networks do wrong.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;

/// How many connections may wait to be accepted.
const BACKLOG: u32 = 256;

/// What the wire does to all connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// Bytes are passed on.
    #[default]
    Sound,
    /// Nothing comes through; what was sent meanwhile comes through afterwards.
    Still,
    /// Nobody listens, and what was connected is reset.
    Refused,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    mode: Mode,
    /// Connections that were made before the last of so many resets are reset.
    resets: u32,
    /// Connections that were made before nothing comes through any more, however long one waits.
    forgotten: u32,
}

/// The near end of a wire; it ends with its handle.
pub(super) struct Wire {
    address: SocketAddr,
    state: watch::Sender<State>,
    /// Keeps the port while nobody listens: bound, so that nobody else gets it, and deaf, so that who connects is refused.
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

    /// Where the near end is.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on bytes are passed on; what was forgotten stays so.
    pub(super) fn mend(&self) {
        self.state.send_modify(|state| state.mode = Mode::Sound);
    }

    /// From now on nothing comes through, and what is sent comes through when it is mended.
    pub(super) fn hold(&self) {
        self.state.send_modify(|state| state.mode = Mode::Still);
    }

    /// From now on whoever connects is refused.
    pub(super) fn refuse(&self) {
        self.state.send_modify(|state| state.mode = Mode::Refused);
    }

    /// Resets the connections that there are.
    pub(super) fn reset(&self) {
        self.state.send_modify(|state| state.resets += 1);
    }

    /// Lets nothing come through the connections that there are ever again, as a router does that has forgotten them.
    pub(super) fn forget(&self) {
        self.state.send_modify(|state| state.forgotten += 1);
    }
}

/// A socket of this address, which another one may have as long as only one of them listens.
fn socket(address: SocketAddr) -> std::io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// Listens whenever it may, until the handle is gone.
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

/// Passes on bytes in both directions, or does not.
async fn relay(mut near: TcpStream, target: SocketAddr, mut seen: watch::Receiver<State>) -> std::io::Result<()> {
    let born = *seen.borrow_and_update();
    let mut far = TcpStream::connect(target).await?;
    {
        let mut copied = std::pin::pin!(copy_bidirectional(&mut near, &mut far));
        loop {
            let state = *seen.borrow_and_update();
            if state.mode == Mode::Refused || state.resets > born.resets {
                break;
            }
            let passes = state.mode == Mode::Sound && state.forgotten == born.forgotten;
            tokio::select! {
                copied = &mut copied, if passes => return copied.map(drop),
                changed = seen.changed() => changed.map_err(std::io::Error::other)?,
            }
        }
    }
    near.set_zero_linger()
}
