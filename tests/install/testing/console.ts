import { get } from '../../e2e/testing/clients.ts'

/** What the console at this address serves: the status and kind of the page, and of what it names. */
export async function consoleParts(url: string): Promise<readonly string[]> {
  const page = await get(url)
  const paths = [...page.body.matchAll(/"(\/assets\/[\w.-]+)"/g)].map(([, path = '']) => path)
  const parts = await Promise.all(paths.map((path) => get(`${url}${path}`)))
  return [page, ...parts].map(({ status, headers, body }) =>
    [status, headers['content-type'], ...(body === '' ? ['empty'] : [])].join(' '),
  )
}

export const completeConsole = [
  '200 text/html; charset=utf-8',
  '200 text/plain; charset=utf-8',
  '200 text/css; charset=utf-8',
  '200 text/javascript; charset=utf-8',
]
