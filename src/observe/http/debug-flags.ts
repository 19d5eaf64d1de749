/** `/debug/flags/v`: `curl -X PUT -d 4 …` changes the verbosity of a running proxy. */
import type { IncomingMessage } from 'node:http'
import { noSniff, reply } from './reply.ts'
import type { HttpHandler } from './reply.ts'

const highestVerbosity = 2 ** 31 - 1
const longestBody = 1024

export function verbosityHandler(setVerbosity: (verbosity: number) => void): HttpHandler {
  return async (request, response) => {
    const headers = { 'Content-Type': 'text/plain', ...noSniff }
    if (request.method !== 'PUT') return reply(response, 406, headers, 'unsupported http method\n')
    const text = await readBody(request)
    const verbosity = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (!(verbosity <= highestVerbosity)) {
      const range = `it must be a whole number from 0 to ${highestVerbosity}`
      return reply(response, 400, headers, `cannot set the verbosity to ${JSON.stringify(text)}: ${range}\n`)
    }
    setVerbosity(verbosity)
    reply(response, 200, headers, `successfully set klog.logging.verbosity to ${verbosity}\n`)
  }
}

export const debugFlagsIndexHandler: HttpHandler = (_request, response) => {
  const page = '<!doctype html>\n<title>/debug/flags/</title>\n<p>Flags that PUT can change:</p>\n<ul><li>v</li></ul>\n'
  reply(response, 200, { 'Content-Type': 'text/html; charset=utf-8' }, page)
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request as AsyncIterable<Buffer>) {
    if (text.length < longestBody) text += chunk.toString('latin1')
  }
  return text.trim().slice(0, longestBody)
}
