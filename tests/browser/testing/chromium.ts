/** Debian's Chromium, driven without a screen. */
import { spawnSync } from 'node:child_process'
import { chromium } from 'playwright-core'
import type { Browser } from 'playwright-core'

export const chromiumPath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

/** Undefined when there is one; otherwise what to do about it. */
export const whyNoChromium =
  spawnSync(chromiumPath, ['--version'], { stdio: 'ignore' }).status === 0
    ? undefined
    : `${chromiumPath} does not run: install chromium (apt-get install chromium), or name one with CHROMIUM=`

/** For the name of a suite that is skipped. */
export const unlessChromium = whyNoChromium === undefined ? '' : ` (skipped: ${whyNoChromium})`

export interface LaunchOptions {
  readonly args?: readonly string[]
  /** A program that starts the browser in its place, with the same arguments. */
  readonly through?: string
}

export function launchChromium({ args = [], through }: LaunchOptions = {}): Promise<Browser> {
  return chromium.launch({
    executablePath: through ?? chromiumPath,
    args: [
      // Its sandbox refuses to work for root.
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      ...args,
    ],
  })
}
