import { expect, test } from 'vitest'
import { linesOf, parseUriLine, stanzasOf } from './apt.ts'

const hash = 'f5906f44fffdb190f84e3fdd6c07cba399205de5173f67e8742876a7865e2fc9'

test('what apt prints about a package has its name, version, hash and place in the archive', () => {
  const line = `'http://mirror.example/debian/pool/main/g/gcc-12/libstdc%2b%2b6_12.2.0-14%2bdeb12u1_arm64.deb' libstdc++6_12.2.0-14+deb12u1_arm64.deb 556608 SHA256:${hash}`
  expect(parseUriLine(line)).toEqual({
    name: 'libstdc++6',
    version: '12.2.0-14+deb12u1',
    sha256: hash,
    path: 'pool/main/g/gcc-12/libstdc++6_12.2.0-14+deb12u1_arm64.deb',
  })
})

test('a version may have an epoch, which its file in the archive has not', () => {
  const line = `'http://mirror.example/debian/pool/main/c/conntrack_1.4.7-1_amd64.deb' conntrack_1%3a1.4.7-1_amd64.deb 1 SHA256:${hash}`
  expect(parseUriLine(line)).toMatchObject({ version: '1:1.4.7-1', path: 'pool/main/c/conntrack_1.4.7-1_amd64.deb' })
})

test('a weaker hash is refused', () => {
  const line = `'http://mirror.example/debian/pool/x_1_amd64.deb' x_1_amd64.deb 1 MD5Sum:8e7e741807b1e1939df8f58323affdcb`
  expect(() => parseUriLine(line)).toThrow('without a SHA256')
})

test('of the sources of a machine, those of the release are used', () => {
  const debian =
    'Types: deb deb-src\nURIs: http://mirror.example/debian/\nSuites: bookworm bookworm-updates\nComponents: main'
  const others = 'Types: deb\nURIs: https://node.example\nSuites: nodistro\nComponents: main'
  expect(stanzasOf(`# by hand\n${debian}\n\n${others}\n`)).toEqual([
    { stanza: debian, uris: ['http://mirror.example/debian'] },
  ])
})

test('sources in the older format are used too', () => {
  const text = `deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/debian bookworm-security main contrib
deb-src http://mirror.example/debian bookworm main
deb http://mirror.example/debian trixie main
`
  expect(linesOf(text)).toEqual([
    {
      stanza:
        'Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm-security\nComponents: main contrib\nSigned-By: /k.gpg',
      uris: ['http://mirror.example/debian'],
    },
  ])
})
