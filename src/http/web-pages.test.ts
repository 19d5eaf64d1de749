import { expect, test } from 'vitest'
import { hostnameIn, isLocalName, isLoopbackPeer, namesThisMachine, pageBehind } from './web-pages.ts'

test.each([
  ['a program', {}, 'nobody'],
  ['a person who types the address', { 'sec-fetch-site': 'none' }, 'nobody'],
  ['a link on a page of ours', { 'sec-fetch-site': 'same-origin' }, 'nobody'],
  ['a page of another site', { 'sec-fetch-site': 'cross-site' }, 'Sec-Fetch-Site: cross-site'],
  ['a page at another port of this machine', { 'sec-fetch-site': 'same-site' }, 'Sec-Fetch-Site: same-site'],
  ['a page that says where it is from', { origin: 'https://page.example' }, '"https://page.example"'],
  ['a page that hides where it is from', { origin: 'null' }, '"null"'],
  ['an empty origin', { origin: '' }, '""'],
])('%s is told by its headers', (_, headers, expected) => {
  expect(pageBehind(headers) ?? 'nobody').toContain(expected)
})

test.each([
  [undefined, true],
  ['', true],
  ['localhost', true],
  ['LOCALHOST:10249', true],
  ['localhost.:10249', true],
  ['demo.localhost:80', true],
  ['127.0.0.1:10249', true],
  ['[::1]:10249', true],
  ['192.0.2.7:10249', true],
  ['[fd00::2]', true],
  ['page.example', false],
  ['127.0.0.1.page.example:10249', false],
  ['localhost.page.example', false],
  ['localhost@page.example', false],
  ['notlocalhost', false],
  ['a b', false],
])('a Host of %s may mean a server on loopback: %s', (host, expected) => {
  expect(namesThisMachine(host)).toBe(expected)
})

test('names and addresses of loopback are local, others are not', () => {
  for (const name of ['localhost', 'x.localhost', '127.0.0.1', '127.9.9.9', '::1']) expect(isLocalName(name)).toBe(true)
  for (const name of ['192.0.2.1', '::', 'example.com', '']) expect(isLocalName(name)).toBe(false)
  expect(hostnameIn('[::1]:80')).toBe('::1')
})

test('a peer on loopback is one in whatever way the socket writes it', () => {
  for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) expect(isLoopbackPeer(address)).toBe(true)
  for (const address of ['192.0.2.1', '::ffff:192.0.2.1', 'fd00::1', undefined])
    expect(isLoopbackPeer(address)).toBe(false)
})
