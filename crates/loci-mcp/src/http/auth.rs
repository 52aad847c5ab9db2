//! Authentication: clients must send a token, unless the owner disables it explicitly.

use std::fmt::{self, Debug, Formatter};
use std::net::SocketAddr;

use loci_palace::{Error, Result};

/// Minimum number of bytes of a token.
pub const MIN_TOKEN_BYTES: usize = 16;
/// Random bytes of a generated token.
const RANDOM_BYTES: usize = 32;

/// How a server authenticates its clients. The `Debug` output does not contain the token.
#[derive(Clone, PartialEq, Eq)]
pub enum Auth {
    /// Clients send this as a bearer token.
    Token(String),
    /// Every program that can reach the address is served. Refused for addresses that other
    /// machines can reach.
    None,
}

impl Debug for Auth {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Token(_) => "Token(…)",
            Self::None => "None",
        })
    }
}

impl Auth {
    /// A new token of 256 random bits from the operating system.
    pub fn generate() -> Result<Self> {
        let mut bytes = [0; RANDOM_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| Error::Internal {
            doing: "generating a token".into(),
            detail: error.to_string(),
        })?;
        Ok(Self::Token(crate::hexadecimal(&bytes)))
    }

    pub(crate) fn token(&self) -> Option<&str> {
        match self {
            Self::Token(token) => Some(token),
            Self::None => None,
        }
    }

    /// Refuses an address that other machines can reach without a token, and tokens that can be
    /// guessed or that no client can send.
    pub(super) fn check(&self, address: SocketAddr) -> Result<()> {
        match self {
            Self::None if !address.ip().to_canonical().is_loopback() => Err(Error::invalid(
                "`--no-auth`",
                format!(
                    "works on loopback addresses only, and {address} can be reached from other \
                     machines; omit the flag to require a token"
                ),
            )),
            Self::Token(token) if token.len() < MIN_TOKEN_BYTES => Err(Error::invalid(
                "the token",
                format!("is too short; give at least {MIN_TOKEN_BYTES} characters"),
            )),
            Self::Token(token) if !token.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Err(Error::invalid(
                    "the token",
                    "has a space or a character that is not ASCII; no HTTP header can carry it",
                ))
            }
            Self::Token(_) | Self::None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_tokens_are_long_and_differ_and_debug_hides_them() {
        let (first, second) = (Auth::generate().unwrap(), Auth::generate().unwrap());
        assert_ne!(first, second);
        let token = first.token().unwrap();
        assert_eq!(token.len(), 2 * RANDOM_BYTES);
        assert!(first.check(([0, 0, 0, 0], 1).into()).is_ok());
        assert!(!format!("{first:?}").contains(token));
    }

    #[test]
    fn no_auth_is_refused_for_every_address_that_is_not_loopback() {
        for (address, fits) in [
            ("127.0.0.1:1", true),
            ("127.9.9.9:1", true),
            ("[::1]:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
            ("192.0.2.1:1", false),
            ("[::ffff:192.0.2.1]:1", false),
        ] {
            let checked = Auth::None.check(address.parse().unwrap());
            assert_eq!(checked.is_ok(), fits, "{address}");
        }
    }

    #[test]
    fn a_token_that_no_header_carries_is_refused_and_not_quoted() {
        for token in ["tiny", "sixteen letters and a space", "sixteen-letters-é"] {
            let error = Auth::Token(token.into())
                .check(([127, 0, 0, 1], 1).into())
                .unwrap_err();
            assert!(!error.to_string().contains(token), "{error}");
        }
    }
}
