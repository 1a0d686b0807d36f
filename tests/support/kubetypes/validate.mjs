// Check objects against the published types of their kinds, strictly:
//
//     node validate.mjs <OBJECTS >FAULTS
//
// in the folder that has node_modules/. Both are JSON: {NAME: OBJECT}, {NAME: ["PATH: WHAT"]}. Each
// object becomes a literal in a program, and the compiler refuses fields that its type does not
// have, missing ones and wrong types. Patterns, formats and bounds are for the validators that come
// with the types.
import { readFileSync } from "node:fs";
import ts from "typescript";

const PACKAGES = { "monitoring.coreos.com": "@kubernetes-models/prometheus-operator" };
const OPTIONS = {
	noEmit: true, strict: true, skipLibCheck: true, types: [], lib: ["lib.es2022.d.ts"],
	target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext,
};

const moduleOf = ({ apiVersion, kind }) =>
	`${PACKAGES[apiVersion.split("/")[0]] ?? "kubernetes-models"}/${apiVersion}/${kind}`;

const source = (object) =>
	`import type { I${object.kind} } from "${moduleOf(object)}";\n` +
	`export const object: I${object.kind} = ${JSON.stringify(object)};\n`;

// As the API server names it: spec.containers[0].name
function pathOf(file, position) {
	const step = (node) => ts.isPropertyAssignment(node) ? "." + node.name.text :
		ts.isArrayLiteralExpression(node.parent ?? node) ? `[${node.parent.elements.indexOf(node)}]` : "";
	const visit = (node) => step(node) + (ts.forEachChild(node, (child) =>
		child.getStart(file) <= position && position < child.end ? visit(child) : undefined) ?? "");
	return visit(file).replace(/^\./, "");
}

function compile(objects) {
	const sources = Object.fromEntries(Object.entries(objects).map(
		([name, object]) => [`${process.cwd()}/${name}.ts`, source(object)]));
	const host = ts.createCompilerHost(OPTIONS, true);
	const { getSourceFile, fileExists, readFile } = host;
	host.fileExists = (path) => path in sources || fileExists(path);
	host.readFile = (path) => sources[path] ?? readFile(path);
	host.getSourceFile = (path, ...rest) => path in sources ?
		ts.createSourceFile(path, sources[path], OPTIONS.target, true) : getSourceFile(path, ...rest);
	return ts.createProgram(Object.keys(sources), OPTIONS, host);
}

function typeFaults(program, name) {
	const file = program.getSourceFiles().find(({ fileName }) => fileName.endsWith(`/${name}.ts`));
	return ts.getPreEmitDiagnostics(program, file).map(({ start, messageText }) =>
		`${pathOf(file, start)}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`);
}

async function valueFaults(object) {
	try {
		const { [object.kind]: Kind } = await import(moduleOf(object));
		new Kind(object).validate();
		return [];
	} catch (error) {
		return error.errors?.map(({ instancePath, message }) =>
			`${instancePath.slice(1).replace(/\/(\d+)/g, "[$1]").replaceAll("/", ".")}: ${message}`) ??
			[`: ${error.message}`];
	}
}

const objects = JSON.parse(readFileSync(0, "utf8"));
const program = compile(objects);
const faults = {};
for (const [name, object] of Object.entries(objects))
	faults[name] = [...typeFaults(program, name), ...await valueFaults(object)];
console.log(JSON.stringify(faults));
