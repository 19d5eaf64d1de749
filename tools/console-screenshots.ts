/** Makes the pictures of the console in docs/console: starts the demo, looks at its pages in light and dark. Needs Chromium. */
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContext } from 'playwright-core'
import { smallPng } from './small-png.ts'
import type { Pixels } from './small-png.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = join(root, 'docs/console')
/** Larger ones make the repository grow. */
const mostBytes = 150 * 1024
/** Until the charts have something to show. */
const trafficMs = 12_000

const shots = [
  { name: 'demo', path: '/', height: 900 },
  { name: 'overview', path: '/overview', height: 800 },
  { name: 'service', path: '/services/shop/web', height: 900 },
  { name: 'syncs', path: '/syncs', height: 700 },
  { name: 'explain', path: '/explain?target=service/api&namespace=shop&from=outside', height: 800 },
]

const temporary = await mkdtemp(join(tmpdir(), 'fairlead-screenshots-'))
const demo = spawn(process.execPath, [join(root, 'bin/fairlead.js'), 'demo', '--console-port=0', '--api-port=0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
  env: { ...process.env, TMPDIR: temporary },
})
try {
  const url = await addressOf()
  const browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    // Its sandbox refuses to work for root.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  })
  await mkdir(folder, { recursive: true })
  await Promise.all((['light', 'dark'] as const).map((scheme) => takeAll(browser, url, scheme)))
  await browser.close()
} finally {
  demo.kill('SIGKILL')
  await rm(temporary, { recursive: true, force: true })
}

async function addressOf(): Promise<string> {
  let said = ''
  for await (const piece of demo.stdout.setEncoding('utf8')) {
    said += piece as string
    const [, url] = /Open (http:\S+?)\/? in a browser/.exec(said) ?? []
    if (url !== undefined) {
      demo.stdout.resume()
      return url
    }
  }
  throw new Error(`the demo has ended without an address of its console:\n${said}`)
}

async function takeAll(browser: Browser, url: string, colorScheme: 'light' | 'dark'): Promise<void> {
  const context = await browser.newContext({ colorScheme })
  // While somebody looks at the demo, its clients ask.
  await (await context.newPage()).goto(url)
  const page = await context.newPage()
  for (const { name, path, height } of shots) {
    await page.setViewportSize({ width: 1280, height })
    await page.goto(url + path)
    if (name === 'syncs') await page.locator('main a[href^="/syncs/"]').first().click()
    await sleep(trafficMs)
    const png = smallPng(await pixelsOf(context, await page.screenshot({ scale: 'css' })))
    const file = join(folder, `${name}-${colorScheme}.png`)
    process.stdout.write(`${file}: ${Math.ceil(png.length / 1024)} KiB\n`)
    if (png.length > mostBytes) throw new Error(`${file} has ${png.length} bytes, more than ${mostBytes}`)
    await writeFile(file, png)
  }
}

/** The browser can read what it has written. */
async function pixelsOf(context: BrowserContext, png: Buffer): Promise<Pixels> {
  const page = await context.newPage()
  const { width, height, text } = (await page.evaluate(`(async () => {
    const answer = await fetch('data:image/png;base64,${png.toString('base64')}')
    const bitmap = await createImageBitmap(await answer.blob())
    const { width, height } = bitmap
    const canvas = new OffscreenCanvas(width, height).getContext('2d')
    canvas.drawImage(bitmap, 0, 0)
    const { data } = canvas.getImageData(0, 0, width, height)
    let text = ''
    for (let at = 0; at < data.length; at += 8192) text += String.fromCharCode(...data.subarray(at, at + 8192))
    return { width, height, text: btoa(text) }
  })()`)) as { width: number; height: number; text: string }
  await page.close()
  return { width, height, rgba: Buffer.from(text, 'base64') }
}
