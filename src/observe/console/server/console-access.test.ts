/** The token, and the cookie that stands for it. */
import { expect, test } from 'vitest'
import { serveConsole } from './testing/serve-console.ts'

const token = 'a token of thirty-two characters'.replaceAll(' ', '-')
const other = token.replace('a', 'b')

test('without the token there is the page, and nothing that it could show', async () => {
  const { ask } = await serveConsole({ token: () => token })
  expect(await ask('/services')).toMatchObject({ status: 200 })
  for (const path of ['/api/live', '/api/login', '/api/nothing', '/debug/echo', '/debug/nothing'])
    expect(await ask(path)).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Bearer' },
      body: 'this needs the token of --console-token-file\n',
    })
})

test('a program sends the token with each request', async () => {
  const { ask } = await serveConsole({ token: () => token })
  const status = async (authorization: string) => (await ask('/debug/echo', { headers: { authorization } })).status
  expect(await status(`Bearer ${token}`)).toBe(200)
  expect(await status(`bearer ${token}`)).toBe(200)
  for (const wrong of [`Bearer ${other}`, `Bearer ${token}x`, `Bearer ${token.slice(1)}`, `Basic ${token}`, 'Bearer '])
    expect(await status(wrong)).toBe(401)
})

test('a browser gets a cookie for the token that no script can read and no other site can use', async () => {
  const { post, ask } = await serveConsole({ token: () => token })
  const answer = await post('/api/login', { token: ` ${token}\n` })
  const [cookie = ''] = answer.headers['set-cookie'] ?? []
  expect(answer).toMatchObject({ status: 204, body: '' })
  expect(cookie).toMatch(
    /^fairlead-console=[\w-]{43}; Path=\/; Max-Age=31536000; HttpOnly; SameSite=Strict$/, // plain HTTP on this machine
  )
  expect(cookie).not.toContain(token)
  const [value = ''] = cookie.split(';')
  expect(await ask('/debug/echo', { headers: { cookie: value } })).toMatchObject({ status: 200 })
  expect(await ask('/debug/echo', { headers: { cookie: `a=b; fairlead-console=x; ${value}` } })).toMatchObject({
    status: 200,
  })
  for (const wrong of [`${value}x`, 'fairlead-console=', 'fairlead-console', `x${value}`, `fairlead-console=${token}`])
    expect(await ask('/debug/echo', { headers: { cookie: wrong } })).toMatchObject({ status: 401 })
})

for (const [what, host, isSecure] of [
  ['through a proxy with TLS', 'console.example', true],
  ['by an address of the network, where it would travel in clear text', '10.0.0.1:10257', true],
  ['on this machine', '127.0.0.1:10257', false],
  ['on this machine, by name', 'localhost:10257', false],
] as const)
  test(`the cookie is ${isSecure ? '' : 'not '}Secure ${what}`, async () => {
    const { post } = await serveConsole({ token: () => token, url: 'https://console.example' })
    const { headers } = await post('/api/login', { token }, { host })
    expect(headers['set-cookie']?.[0]?.endsWith('; Secure')).toBe(isSecure)
  })

test('a cookie survives a restart, and ends with the token', async () => {
  const before = await serveConsole({ token: () => token })
  const cookie = cookieIn(await before.post('/api/login', { token }))
  let current: string | undefined = token
  const after = await serveConsole({ token: () => current })
  const status = async () => (await after.ask('/debug/echo', { headers: { cookie } })).status
  expect(await status()).toBe(200)
  current = other
  expect(await status()).toBe(401)
  current = undefined
  expect(await status()).toBe(401)
  expect(await after.post('/api/login', { token: '' })).toMatchObject({ status: 401 })
  current = token
  expect(await status()).toBe(200)
})

test('a wrong token gets no cookie, and after some the next ones wait', async () => {
  const { post, ask, clock, log } = await serveConsole({ token: () => token })
  const cookie = cookieIn(await post('/api/login', { token }))
  for (let i = 0; i < 10; i++) {
    const { status, headers } = await post('/api/login', { token: other })
    expect([status, headers['set-cookie']]).toEqual([401, undefined])
  }
  expect(await post('/api/login', { token })).toMatchObject({
    status: 429,
    headers: { 'retry-after': '5' },
    body: 'too many wrong tokens: try again in 5 s\n',
  })
  expect(await ask('/debug/echo', { headers: { authorization: `Bearer ${token}` } })).toMatchObject({ status: 429 })
  // Whoever is in stays in.
  expect(await ask('/debug/echo', { headers: { cookie } })).toMatchObject({ status: 200 })
  await clock.advance(5000)
  expect(await post('/api/login', { token })).toMatchObject({ status: 204 })
  expect(JSON.stringify(log.lines)).not.toMatch(new RegExp(`${token}|${other}`))
})

test('what is no text is no token', async () => {
  const { post } = await serveConsole({ token: () => token })
  for (const wrong of [{}, { token: [token] }, { token: { toString: token } }, { token: null }, []])
    expect(await post('/api/login', wrong)).toMatchObject({ status: 401 })
})

test('without a token there is nothing to log in to', async () => {
  const { post } = await serveConsole()
  const { status, headers } = await post('/api/login', { token: 'x' })
  expect([status, headers['set-cookie']]).toEqual([204, undefined])
})

function cookieIn({ headers }: { readonly headers: Readonly<Record<string, string | string[] | undefined>> }): string {
  return String(headers['set-cookie']?.[0]).split(';')[0] ?? ''
}
