import type { ProxyConfig } from '../proxy-config.ts'

/** The configuration that runs. Read it where it is used: another one may take its place at any time, all at once. */
export class RunningConfig {
  #config: ProxyConfig

  constructor(config: ProxyConfig) {
    this.#config = config
  }

  get config(): ProxyConfig {
    return this.#config
  }

  replace(config: ProxyConfig): void {
    this.#config = config
  }
}
