/** Opens the tables of the families, by the best way that this machine has: netlink, else the nft command. */
import type { Logger } from '../../core/logger.ts'
import type { Family } from '../../net/ip.ts'
import type { Exec } from '../exec/exec.ts'
import { NetlinkError } from '../netlink/netlink-error.ts'
import type { OpenDatagrams } from '../netlink/open-netlink.ts'
import { BatchSocket } from './netlink/batch-socket.ts'
import { CommandNftTable } from './command/command-nft.ts'
import { findNft } from './command/find-nft.ts'
import type { FindNftOptions } from './command/find-nft.ts'
import { NetlinkNftTable } from './netlink/netlink-nft.ts'
import { NftEvents } from './netlink/nft-events.ts'
import type { NftTable } from './nft.ts'

export interface NftTablesOptions extends Omit<FindNftOptions, 'family'> {
  readonly exec: Exec
  readonly openDatagrams: OpenDatagrams
}

/** One object for both families: they listen to changes through one socket, for the reason that NfTablesEvents gives. */
export class NftTables {
  readonly #options: NftTablesOptions
  #events: Promise<NftEvents> | undefined
  #users = 0

  constructor(options: NftTablesOptions) {
    this.#options = options
  }

  /** Rejects as `findNft` does. */
  async open(family: Family, log: Logger, signal: AbortSignal): Promise<NftTable> {
    const { exec, openDatagrams } = this.#options
    const { hasObjectComments, version } = await findNft({ ...this.#options, family }, signal)
    try {
      await using _works = await BatchSocket.open(openDatagrams)
      const events = await this.#share()
      const options = { family, exec, openDatagrams, events, hasObjectComments, log, onDispose: () => this.#release() }
      log.info('nftables over netlink', { family, nft: version })
      return new NetlinkNftTable(options)
    } catch (error) {
      if (!isSocketTrouble(error)) throw error
      log.info('netlink does not work here, using the nft command', { family, nft: version, error })
      return new CommandNftTable({ family, exec, hasObjectComments })
    }
  }

  async #share(): Promise<NftEvents> {
    const events = (this.#events ??= NftEvents.open(this.#options.openDatagrams))
    this.#users++
    try {
      return await events
    } catch (error) {
      this.#users--
      this.#events = undefined
      throw error
    }
  }

  /** The last table to be closed also closes the shared listener. */
  async #release(): Promise<void> {
    if (--this.#users > 0) return
    const events = this.#events
    this.#events = undefined
    await (await events)?.[Symbol.asyncDispose]()
  }
}

/** Errors of the socket itself come as Node gives them. */
function isSocketTrouble(error: unknown): boolean {
  return error instanceof NetlinkError || typeof (error as NodeJS.ErrnoException).errno === 'number'
}
