/** The web console: where it is, and who may look. Every server that has one has these flags. */
import { isLoopback, parseIp } from '../../net/ip.ts'
import { shortened } from '../../net/shown-value.ts'
import type { FlagDeclaration } from '../flags/flag.ts'
import * as type from '../flags/flag-types.ts'
import { splitHostPort } from '../host-port.ts'

export const consoleFlags = {
  'console-bind-address': {
    type: type.text,
    default: '',
    help: 'Serve the web console here: IP:PORT, such as 127.0.0.1:10257. Empty: there is none. Other addresses than those of loopback need a token, and TLS.',
  },
  'console-token-file': {
    type: type.text,
    default: '',
    help: 'Show the console only to those who know the token in this file, which has 16 characters at least.',
  },
  'console-tls-cert-file': {
    type: type.text,
    default: '',
    help: 'The certificate of the console, with those that sign it. It is read again when it changes.',
  },
  'console-tls-private-key-file': {
    type: type.text,
    default: '',
    help: 'The key of --console-tls-cert-file.',
  },
  'console-url': {
    type: type.text,
    default: '',
    help: 'The address under which a proxy in front of the console serves it with TLS: https://NAME or https://NAME:PORT.',
  },
} satisfies Readonly<Record<string, FlagDeclaration<string>>>

export interface ConsoleSettings {
  readonly ip: string
  readonly port: number
  /** Empty: everybody who reaches it may look. */
  readonly tokenFile: string
  /** Both or none. */
  readonly tls: { readonly certificate: string; readonly key: string } | undefined
  /** Of the proxy in front of it. */
  readonly url: string | undefined
}

type Values = Readonly<Record<keyof typeof consoleFlags, string>>

/** The values make sense: `consoleProblem` has looked. */
export function consoleSettings(values: Values): ConsoleSettings | undefined {
  const bind = parseBind(values['console-bind-address'])
  if (bind === undefined) return undefined
  const [certificate, key] = [values['console-tls-cert-file'], values['console-tls-private-key-file']]
  return {
    ...bind,
    tokenFile: values['console-token-file'],
    tls: certificate === '' ? undefined : { certificate, key },
    url: values['console-url'] === '' ? undefined : new URL(values['console-url']).origin,
  }
}

const flagNames = Object.keys(consoleFlags) as readonly (keyof typeof consoleFlags)[]

/** What is wrong, and the way out. */
export function consoleProblem(values: Values): string | undefined {
  const { 'console-bind-address': address } = values
  if (address === '') {
    const lonely = flagNames.find((name) => values[name] !== '')
    return lonely && `--${lonely} needs a console: add --console-bind-address=127.0.0.1:10257, or remove the flag`
  }
  const bind = parseBind(address)
  if (bind === undefined)
    return `--console-bind-address=${shortened(address)} is no address: write IP:PORT, such as 127.0.0.1:10257`
  const [hasCertificate, hasKey] = [
    values['console-tls-cert-file'] !== '',
    values['console-tls-private-key-file'] !== '',
  ]
  if (hasCertificate !== hasKey)
    return 'TLS needs both --console-tls-cert-file and --console-tls-private-key-file: add the other one, or remove both'
  const url = values['console-url']
  if (url !== '' && !isHttpsOrigin(url))
    return `--console-url=${shortened(url)} is not how a browser reaches a proxy with TLS: write https://NAME or https://NAME:PORT`
  if (isLoopback(bind.ip)) return undefined
  if (values['console-token-file'] === '')
    return `--console-bind-address=${address} can be reached from other machines: add --console-token-file=FILE, or use 127.0.0.1`
  if (!hasCertificate && url === '')
    return `--console-bind-address=${address} would carry the token in clear text: add --console-tls-cert-file and --console-tls-private-key-file, or --console-url=https://NAME if a proxy in front of it does TLS`
  return undefined
}

function parseBind(address: string): { readonly ip: string; readonly port: number } | undefined {
  const { host = '', port = '' } = splitHostPort(address) ?? {}
  const ip = parseIp(host)
  if (ip === undefined || !/^\d{1,5}$/.test(port) || Number(port) > 65535) return undefined
  return { ip, port: Number(port) }
}

function isHttpsOrigin(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === 'https:' && url.pathname === '/' && url.search + url.hash + url.username === ''
}
