/** A kernel whose answers are written in the test. */
import { constants } from 'node:os'
import type { Datagrams } from '../datagrams.ts'

/** A datagram, nothing, or the name of the errno that `receive` fails with. */
export type Answer = Buffer | undefined | 'ENOBUFS' | 'EPERM'

export class ScriptedDatagrams implements Datagrams {
  readonly sent: Buffer[] = []
  isClosed = false
  readonly #answers: Answer[]

  constructor(...answers: readonly Answer[]) {
    this.#answers = [...answers]
  }

  async send(datagram: Buffer): Promise<void> {
    this.sent.push(datagram)
  }

  async receive(): Promise<Buffer | undefined> {
    const answer = this.#answers.shift()
    if (typeof answer === 'string')
      throw Object.assign(new Error(answer), { code: answer, errno: -constants.errno[answer] })
    return answer
  }

  async close(): Promise<void> {
    this.isClosed = true
  }
}
