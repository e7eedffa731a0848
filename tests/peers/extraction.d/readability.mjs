// Writes what readability makes of each page of a list: FILE.readability beside FILE.
import { readFileSync, writeFileSync } from "node:fs";
import { Readability } from "@mozilla/readability";
import { JSDOM, VirtualConsole } from "jsdom";

for (const file of readFileSync(process.argv[2], "utf8").split("\n").filter(Boolean)) {
    let html = "";
    try {
        const options = { url: "https://www.example.com/page", virtualConsole: new VirtualConsole() };
        const { document } = new JSDOM(readFileSync(file, "utf8"), options).window;
        const article = new Readability(document).parse();
        html = article ? `<h1>${article.title ?? ""}</h1>${article.content}` : "";
    } catch (error) {
        console.error(`${file}: ${error.message}`);
    }
    writeFileSync(`${file}.readability`, html);
}
