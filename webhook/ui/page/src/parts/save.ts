/** Saves what the page shows as files, made in the browser. */

import type { Picture } from "../model/picture";

/** Save text as a file. */
export function saveText(name: string, type: string, text: string): void {
  saveBlob(name, new Blob([text], { type }));
}

/** Save bytes as a file. */
export function saveBlob(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => {
    URL.revokeObjectURL(url);
  }, 10_000);
}

/** Pixels of a side that browsers can be relied on to draw. */
const MOST_SIDE = 8_000;

/** Save a picture as PNG: of what is too large for a bitmap, a smaller one. */
async function savePng(name: string, svg: string, width: number, height: number): Promise<void> {
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const scale = Math.min(2, MOST_SIDE / width, MOST_SIDE / height);
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(width * scale));
    canvas.height = Math.max(1, Math.round(height * scale));
    const context = canvas.getContext("2d");
    if (!context) throw new Error("the browser gives no canvas");
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise<Blob | null>((done) => {
      canvas.toBlob(done, "image/png");
    });
    if (!blob) throw new Error("the picture is too large for PNG: save it as SVG");
    saveBlob(name, blob);
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** Save a picture as PNG or SVG. */
export async function savePicture(kind: "png" | "svg", name: string, { svg, width, height }: Picture): Promise<void> {
  if (kind === "svg") saveText(`${name}.svg`, "image/svg+xml", svg);
  else await savePng(`${name}.png`, svg, width, height);
}

/** Return a name as file systems take it. */
export function fileName(...parts: string[]): string {
  return parts
    .map((part) => part.replace(/[^\w.-]+/g, "-").slice(0, 60))
    .filter(Boolean)
    .join("-");
}
