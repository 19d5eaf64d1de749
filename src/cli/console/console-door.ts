/** What keeps others out of the console: a token, and a certificate for the way. */
import type { Clock } from '../../core/clock.ts'
import { TlsSource } from '../../http/tls/tls-source.ts'
import { ConsoleAccess } from '../../observe/console/server/console-access.ts'
import { TokenFile } from '../../observe/console/server/token-file.ts'
import type { ServerTls } from '../../observe/http/http-server.ts'
import { CommandError } from '../program.ts'
import type { ConsoleHost } from './serve-console.ts'

export interface ConsoleDoor {
  readonly access: ConsoleAccess
  readonly tls: ServerTls | undefined
}

/** Reads what the flags name, so that what is wrong with it shows at the start. */
export function openConsoleDoor(from: ConsoleHost): ConsoleDoor {
  const { console, host, log } = from
  const { clock, findFile } = host
  const tokenFile = console?.tokenFile ?? ''
  const token = tokenFile === '' ? undefined : TokenFile.open(findFile(tokenFile), clock, log)
  return { access: new ConsoleAccess(token && (() => token.current()), clock), tls: openTls(from) }
}

function openTls({ console, host, log }: ConsoleHost): ServerTls | undefined {
  if (console?.tls === undefined) return undefined
  const { findFile, clock } = host
  const files = { certificate: findFile(console.tls.certificate), key: findFile(console.tls.key), ca: '' }
  try {
    const source = TlsSource.open(files, log)
    return source && atMostOnceASecond(source, clock)
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause)
    throw new CommandError(
      `the console has no TLS: ${problem}; mend what --console-tls-cert-file and --console-tls-private-key-file name`,
      { cause },
    )
  }
}

function atMostOnceASecond(source: TlsSource, clock: Clock): ServerTls {
  let readAtMs = clock.monotonic()
  return {
    get current() {
      return source.current
    },
    refresh() {
      const nowMs = clock.monotonic()
      if (nowMs - readAtMs < 1000) return false
      readAtMs = nowMs
      return source.refresh()
    },
  }
}
