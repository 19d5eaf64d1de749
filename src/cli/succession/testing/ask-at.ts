import { connect } from 'node:net'

/** What the server at this port of loopback says before it ends the connection. */
export function askAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    connect(port, '127.0.0.1')
      .setEncoding('utf8')
      .on('data', (some: string) => (text += some))
      .on('end', () => resolve(text))
      .on('error', reject)
  })
}
