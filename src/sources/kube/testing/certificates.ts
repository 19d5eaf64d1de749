/** Throw-away certificates. They are put together here, because not every system that runs the tests has openssl. */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { isIPv4 } from 'node:net'

export interface KeyPair {
  readonly cert: string
  readonly key: string
}

export class CertificateAuthority {
  readonly cert: string
  readonly #name: string
  readonly #key: KeyObject

  constructor(name: string) {
    const { privateKey, publicKey } = newKeys()
    this.#name = name
    this.#key = privateKey
    this.cert = this.#certificate(name, publicKey, basicConstraints(sequence(yes())))
  }

  /** Names and IPv4 addresses. */
  server(...names: readonly string[]): KeyPair {
    const all = names.length === 0 ? ['127.0.0.1', 'localhost'] : names
    return this.#issue('server', extension('55 1d 11', sequence(...all.map(alternativeName))))
  }

  client(commonName: string): KeyPair {
    return this.#issue(commonName, extension('55 1d 25', sequence(oid('2b 06 01 05 05 07 03 02'))))
  }

  #issue(commonName: string, usage: Buffer): KeyPair {
    const { privateKey, publicKey } = newKeys()
    return {
      cert: this.#certificate(commonName, publicKey, usage),
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    }
  }

  /** RFC 5280, 4.1. */
  #certificate(commonName: string, publicKey: KeyObject, ...extensions: readonly Buffer[]): string {
    const version3 = der(0xa0, integer(Buffer.of(2)))
    const validity = sequence(time(Date.now() - dayMs), time(Date.now() + dayMs))
    const signed = sequence(
      version3,
      integer(Buffer.concat([Buffer.of(1), randomBytes(8)])),
      ecdsaWithSha256,
      nameOf(this.#name),
      validity,
      nameOf(commonName),
      publicKey.export({ type: 'spki', format: 'der' }),
      der(0xa3, sequence(...extensions)),
    )
    const signature = der(0x03, Buffer.of(0), sign('sha256', signed, this.#key))
    const lines =
      sequence(signed, ecdsaWithSha256, signature)
        .toString('base64')
        .match(/.{1,64}/g) ?? []
    return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
  }
}

const dayMs = 24 * 60 * 60_000

function newKeys() {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

/** Tag, length, content. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.of(tag, ...size), content])
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, ...parts)
}

function yes(): Buffer {
  return der(0x01, Buffer.of(0xff))
}

function integer(bigEndian: Buffer): Buffer {
  return der(0x02, bigEndian)
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex.replaceAll(' ', ''), 'hex'))
}

function time(ms: number): Buffer {
  return der(0x17, Buffer.from(`${new Date(ms).toISOString().replaceAll(/[-:T]/g, '').slice(2, 14)}Z`))
}

function nameOf(commonName: string): Buffer {
  return sequence(der(0x31, sequence(oid('55 04 03'), der(0x0c, Buffer.from(commonName)))))
}

function alternativeName(name: string): Buffer {
  return isIPv4(name) ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name))
}

function extension(id: string, value: Buffer): Buffer {
  return sequence(oid(id), der(0x04, value))
}

function basicConstraints(value: Buffer): Buffer {
  return sequence(oid('55 1d 13'), yes(), der(0x04, value))
}

const ecdsaWithSha256 = sequence(oid('2a 86 48 ce 3d 04 03 02'))
